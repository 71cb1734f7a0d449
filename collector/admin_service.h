// What an operator changes by a command, over gRPC, and who did.
//
// Who may is decided by AccessControl; who did is kept by AuditLog. History is written and read on the query thread, so
// that no thread of gRPC waits for a disk; a backup has a thread of its own, an incident belongs to its shard.
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ADMIN_SERVICE_H_
#define LOCKSTEP_COLLECTOR_ADMIN_SERVICE_H_

#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "collector/access/access_control.h"
#include "collector/access/audit_log.h"
#include "collector/access/caller.h"
#include "collector/backup_runner.h"
#include "collector/demands/demand_book.h"
#include "collector/demands/demand_stream.h"
#include "collector/expected_hosts.h"
#include "collector/gpu_directory.h"
#include "collector/incident/incident_action.h"
#include "collector/incident_index.h"
#include "collector/incident_outbox.h"
#include "collector/ingest/agent_registry.h"
#include "collector/job_table.h"
#include "collector/maintenance_book.h"
#include "collector/metrics.h"
#include "collector/query_admission.h"
#include "collector/query_worker.h"
#include "collector/store/history_store.h"
#include "proto/admin.grpc.pb.h"

namespace lockstep {

inline constexpr size_t kMaxNoteBytes = 512;
inline constexpr size_t kDefaultAuditRecords = 1'000;
// Each may hold the answers of DemandBook::kMaxOpenOfJob processes.
inline constexpr size_t kMaxDemandsOfClient = 2;
inline constexpr size_t kMaxDemands = 4;
inline constexpr int64_t kLongestSilenceNanos = 90 * 24 * 3'600 * kNanosPerSecond;

class AdminService final : public wire::Admin::CallbackService {
 public:
  // What it works with. References are borrowed.
  struct Parts {
    AccessControl& access;
    AuditLog& audit;
    const AgentRegistry& agents;
    ExpectedHosts& hosts;
    GpuDirectory& gpus;
    HistoryStore& history;
    QueryWorker& worker;
    BackupRunner& backups;
    const IncidentIndex& incidents;
    IncidentOutbox& outbox;
    MaintenanceBook& maintenance;
    DemandBook& demands;
    CollectorMetrics& metrics;
    const Clock& clock;  // the collector's time line
    // Has the task called by the thread to which the job belongs; false when that has too much to do, or not begun.
    std::function<bool(const std::string& job, std::function<void(JobTable&)> task)> run_on_shard;
    std::function<std::vector<std::shared_ptr<const JobsSnapshot>>()> snapshots;  // one per shard
  };

  explicit AdminService(Parts parts)
      : parts_(std::move(parts)), demands_({"demands", kMaxDemandsOfClient, kMaxDemands}, parts_.metrics.queries) {}

  grpc::ServerUnaryReactor* ForgetHost(grpc::CallbackServerContext* context, const wire::ForgetHostRequest* request,
                                       wire::ForgetHostResponse* response) override;
  grpc::ServerUnaryReactor* Backup(grpc::CallbackServerContext* context, const wire::BackupRequest* request,
                                   wire::BackupResponse* response) override;
  grpc::ServerUnaryReactor* Acknowledge(grpc::CallbackServerContext* context, const wire::AcknowledgeRequest* request,
                                        wire::Incident* response) override;
  grpc::ServerUnaryReactor* Silence(grpc::CallbackServerContext* context, const wire::SilenceRequest* request,
                                    wire::Incident* response) override;
  grpc::ServerUnaryReactor* Resolve(grpc::CallbackServerContext* context, const wire::ResolveRequest* request,
                                    wire::Incident* response) override;
  grpc::ServerUnaryReactor* Comment(grpc::CallbackServerContext* context, const wire::CommentRequest* request,
                                    wire::Incident* response) override;
  grpc::ServerUnaryReactor* AddMaintenance(grpc::CallbackServerContext* context,
                                           const wire::AddMaintenanceRequest* request,
                                           wire::MaintenanceWindow* response) override;
  grpc::ServerUnaryReactor* EndMaintenance(grpc::CallbackServerContext* context,
                                           const wire::EndMaintenanceRequest* request,
                                           wire::MaintenanceWindow* response) override;
  grpc::ServerWriteReactor<wire::OnDemandAnswer>* OnDemand(grpc::CallbackServerContext* context,
                                                           const wire::OnDemandRequest* request) override;
  grpc::ServerUnaryReactor* ListAudit(grpc::CallbackServerContext* context, const wire::ListAuditRequest* request,
                                      wire::ListAuditResponse* response) override;

 private:
  // Who called, and how to answer.
  struct Call {
    grpc::ServerUnaryReactor* reactor;
    std::shared_ptr<const Caller> by;
    std::string peer;
  };
  // A call that changes something.
  struct Change {
    Call call;
    std::string action;
    std::string of;
  };

  // Has `work` done for who may call `method`, and answers who may not.
  grpc::ServerUnaryReactor* ForAdmitted(grpc::CallbackServerContext& context, const char* method,
                                        absl::FunctionRef<void(const Call&)> work);
  absl::Status Forget(const std::string& host);
  // Has the shard of the incident's job do `action` for who may call `method`, and answers when history has that.
  grpc::ServerUnaryReactor* Act(grpc::CallbackServerContext& context, const char* method, uint64_t incident,
                                const IncidentAction& action, wire::Incident* response);
  absl::Status BeginActing(const Change& change, uint64_t id, IncidentAction action, wire::Incident* response);
  absl::Status CheckAction(const IncidentAction& action) const;
  // Has `work` done on the query thread, and answers.
  void RunChange(const Change& change, std::function<absl::Status()> work);
  absl::Status AddWindow(const Caller& by, const wire::AddMaintenanceRequest& request,
                         wire::MaintenanceWindow* response);
  absl::Status EndWindow(const Caller& by, uint64_t id, wire::MaintenanceWindow* response);
  // Finds the processes, has that kept, and demands it of their agents.
  void BeginDemand(const Caller& by, const std::string& peer, const wire::OnDemandRequest& request,
                   const std::shared_ptr<DemandStream>& stream);
  // The ranks that the request names, or else those that the open incidents of the job suspect.
  std::vector<int32_t> RanksToCompare(const wire::OnDemandRequest& request,
                                      absl::Span<const std::shared_ptr<const JobsSnapshot>> snapshots) const;
  // What is done with the answers besides: profiles become evidence, whoever has asked; nullptr = nothing.
  DemandBook::Answer AlsoTaking(const wire::OnDemandRequest& request, size_t answers) const;
  std::vector<wire::Incident> OpenIncidentsOf(const std::string& job) const;
  // Keeps what came of it, then answers. From any thread.
  void Conclude(const Change& change, const absl::Status& outcome);
  // The same on a thread that may wait for the disk.
  void Finish(const Change& change, const absl::Status& outcome);
  grpc::Status FillAudit(const wire::ListAuditRequest& request, wire::ListAuditResponse& response) const;

  const Parts parts_;
  QueryAdmission demands_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ADMIN_SERVICE_H_
