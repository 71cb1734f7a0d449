// The read side over gRPC: status, jobs, ranks, incidents, GPUs, history, captures. Changes nothing.
//
// Jobs and ranks come from the snapshots that shards publish, incidents from memory, history and captures from the
// store on the query thread. No answer is larger than kMaxAnswerBytes (answer_budget.h) or one page of history, and
// each says what it leaves out; captures stream. QueryAdmission bounds how many are under way. Who may ask is decided
// by AccessControl, and what of it a tenant sees by TenantView. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_QUERY_SERVICE_H_
#define LOCKSTEP_COLLECTOR_QUERY_SERVICE_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "collector/access/caller.h"
#include "collector/fleet_view.h"
#include "collector/query_admission.h"
#include "collector/store/history_store.h"
#include "collector/tenant_share.h"
#include "collector/tenant_view.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {

// One page of history: a time and a value take 17 bytes, so that it stays below the 4 MiB that usual clients accept.
inline constexpr SeriesLimits kHistoryPage = {.max_series = 1'000, .max_points = 200'000};
inline constexpr size_t kDefaultIncidents = 100;
inline constexpr size_t kMaxHostHistories = 100;
// People, scripts and a dashboard that ask from one login node. The longest lists take about 30 MiB each, usual ones
// a hundredth.
inline constexpr size_t kMaxQueriesOfClient = 32;
inline constexpr size_t kMaxQueries = 64;
// A capture has about 8 MiB in memory, a chunk and the message that is being sent.
inline constexpr size_t kMaxCapturesOfClient = 16;
inline constexpr size_t kMaxCaptures = 32;

class QueryService final : public wire::Query::CallbackService {
 public:
  explicit QueryService(FleetView view)
      : view_(std::move(view)),
        queries_({"queries", kMaxQueriesOfClient, kMaxQueries}, view_.metrics),
        captures_({"captures", kMaxCapturesOfClient, kMaxCaptures}, view_.metrics) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const wire::GetStatusRequest* request,
                                      wire::GetStatusResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context, const wire::ListJobsRequest* request,
                                     wire::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* ListRanks(grpc::CallbackServerContext* context, const wire::ListRanksRequest* request,
                                      wire::ListRanksResponse* response) override;
  grpc::ServerUnaryReactor* ListIncidents(grpc::CallbackServerContext* context,
                                          const wire::ListIncidentsRequest* request,
                                          wire::ListIncidentsResponse* response) override;
  grpc::ServerUnaryReactor* GetIncident(grpc::CallbackServerContext* context, const wire::GetIncidentRequest* request,
                                        wire::Incident* response) override;
  grpc::ServerUnaryReactor* GetStacks(grpc::CallbackServerContext* context, const wire::GetStacksRequest* request,
                                      wire::GetStacksResponse* response) override;
  grpc::ServerUnaryReactor* ListMaintenance(grpc::CallbackServerContext* context,
                                            const wire::ListMaintenanceRequest* request,
                                            wire::ListMaintenanceResponse* response) override;
  grpc::ServerUnaryReactor* ListGpus(grpc::CallbackServerContext* context, const wire::ListGpusRequest* request,
                                     wire::ListGpusResponse* response) override;
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext* context, const wire::GetHistoryRequest* request,
                                       wire::GetHistoryResponse* response) override;
  grpc::ServerWriteReactor<wire::CaptureEntry>* Capture(grpc::CallbackServerContext* context,
                                                        const wire::CaptureRequest* request) override;

 private:
  // Who asks, and his place among the queries or captures.
  struct Guest {
    std::shared_ptr<const Caller> caller;
    QueryAdmission::Slot slot;
  };
  absl::StatusOr<Guest> Enter(grpc::CallbackServerContext* context, absl::string_view method, QueryAdmission& places);

  // Answers at once with what `fill` returns, if the caller may ask and there is a place for the query.
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, absl::string_view method,
                                   const std::function<grpc::Status(const TenantView&)>& fill);
  uint32_t OpenIncidents(const TenantView& tenant) const;
  std::vector<wire::HostHistory> Histories(const TenantView& tenant) const;
  grpc::Status ReadHistory(const wire::GetHistoryRequest& request, const HostShare& share,
                           wire::GetHistoryResponse& response) const;
  void CountCut(bool cut) const;

  const FleetView view_;
  QueryAdmission queries_;
  QueryAdmission captures_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_QUERY_SERVICE_H_
