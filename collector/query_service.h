// The read side over gRPC: status, jobs, ranks, incidents, history, captures. Changes nothing.
//
// Jobs and ranks come from the snapshots that shards publish, incidents from memory, history and captures from the
// store on the query thread. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_QUERY_SERVICE_H_
#define LOCKSTEP_COLLECTOR_QUERY_SERVICE_H_

#include <grpcpp/support/server_callback.h>

#include "collector/fleet_view.h"
#include "proto/query.grpc.pb.h"

namespace lockstep {

inline constexpr size_t kMaxSeriesPerAnswer = 1'000;
inline constexpr size_t kMaxPointsPerAnswer = 200'000;  // keeps the answer below the message size of a usual client
inline constexpr size_t kDefaultIncidents = 100;
inline constexpr size_t kMaxIncidentsPerAnswer = 1'000;

class QueryService final : public wire::Query::CallbackService {
 public:
  explicit QueryService(FleetView view) : view_(std::move(view)) {}

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
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext* context, const wire::GetHistoryRequest* request,
                                       wire::GetHistoryResponse* response) override;
  grpc::ServerWriteReactor<wire::CaptureEntry>* Capture(grpc::CallbackServerContext* context,
                                                        const wire::CaptureRequest* request) override;

 private:
  grpc::Status ReadHistory(const wire::GetHistoryRequest& request, wire::GetHistoryResponse& response) const;

  const FleetView view_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_QUERY_SERVICE_H_
