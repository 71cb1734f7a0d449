// The running collector: owns every piece between the sockets and the store, starts them in order and ends them in
// order.
//
// Not thread-safe: Start, Housekeep and Drain belong to one thread; docs/life-of-a-sample.md tells what runs on which.

#ifndef LOCKSTEP_COLLECTOR_COLLECTOR_H_
#define LOCKSTEP_COLLECTOR_COLLECTOR_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/progress_watch.h"
#include "collector/access/access_control.h"
#include "collector/access/audit_log.h"
#include "collector/admin_service.h"
#include "collector/alert/alert_receivers.h"
#include "collector/backup_runner.h"
#include "collector/collector_options.h"
#include "collector/demands/demand_book.h"
#include "collector/door_audit.h"
#include "collector/expected_hosts.h"
#include "collector/failing_sources.h"
#include "collector/gpu_directory.h"
#include "collector/hang_stacks.h"
#include "collector/history_keeper.h"
#include "collector/hook/incident_hook.h"
#include "collector/host_scores_metric.h"
#include "collector/incident_ids.h"
#include "collector/incident_index.h"
#include "collector/incident_outbox.h"
#include "collector/ingest/agent_registry.h"
#include "collector/ingest/ingest_probe.h"
#include "collector/ingest/ingest_service.h"
#include "collector/job_table.h"
#include "collector/maintenance_book.h"
#include "collector/metrics.h"
#include "collector/profiles/self_profiles.h"
#include "collector/query_service.h"
#include "collector/query_worker.h"
#include "collector/remembered_hosts.h"
#include "collector/router.h"
#include "collector/shard.h"
#include "collector/store/history_backups.h"
#include "collector/store/history_store.h"
#include "collector/store_writer.h"
#include "collector/time_line.h"
#include "daemon/http_server.h"
#include "daemon/settings_reload.h"
#include "daemon/tls/tls_watch.h"

namespace lockstep {

class Collector {
 public:
  // What the collector is given and does not own.
  struct Dependencies {
    const Clock& os_clock;  // keys and certificates expire by it
    TimeLine& clock;        // for all else
    HistoryStore& store;
    AlertReceivers& receivers;
    CollectorMetrics& metrics;
    HistoryBackups* backups = nullptr;      // nullptr = none are taken
    const HistoryKeeper* keeper = nullptr;  // nullptr = nobody looks at the disk
  };

  // Loads incidents and alerts that were not sent, starts all threads and listens. Jobs of an earlier life are given
  // their log while agents already connect. ALREADY_EXISTS when an address cannot be listened on, INVALID_ARGUMENT for
  // keys or rules of access that are of no use, else the error of the store.
  static absl::StatusOr<std::unique_ptr<Collector>> Start(const CollectorOptions& options,
                                                          const Dependencies& dependencies);
  // Drain, if that was not done.
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Has all jobs judged, and incidents kept, by other options within a second, and hosts missed after `host_silent_ns`.
  // Thread-safe.
  void Reconfigure(const JobTableOptions& options, int64_t host_silent_ns);

  // Expects the hosts that the file of that name lists; "" = none. INVALID_ARGUMENT leaves those from before.
  // Thread-safe.
  absl::Status ReadInventory(const std::string& path);

  // Reads keys and rules of access again, as Housekeep does, and says what is wrong with the rules. Thread-safe.
  absl::Status ReloadAccess();

  // From now on the hook of these counts, and the audit keeps that their file does. Thread-safe.
  void SetHook(const AlertRoutes& routes);

  // Counts what came of a SIGHUP that user `uid` has sent, and has the audit keep it. Thread-safe.
  void NoteReload(const ReloadOutcome& outcome, int64_t uid);

  // What has to be done once per second: takes on changed keys and rules of access, closes mute streams, forgets old
  // agents, sends alerts that a hanging store holds up, renews gauges, asks the streams whether they move.
  void Housekeep();

  // What /healthz says: OK, or which of the main loop, shards, readers and writer of history, and streams is stuck;
  // only a restart helps. A store that refuses is none of that. Thread-safe.
  absl::Status Moving();

  // What /readyz says: OK, or everything that is wrong, in words. Agents are served meanwhile. Thread-safe.
  absl::Status Ready();

  // Not ready -> streams end UNAVAILABLE -> servers stop -> queues run empty -> history is flushed. Idempotent.
  void Drain();

  // What history does not have yet, in words. Never blocks. Thread-safe.
  std::string Unwritten();

  int grpc_port() const { return grpc_port_; }
  int http_port() const { return http_->port(); }
  std::vector<std::pair<std::string, int>> ports() const { return {{"grpc", grpc_port()}, {"http", http_port()}}; }

 private:
  // How clients come in.
  struct Door {
    std::unique_ptr<TlsWatch> tls;  // nullptr: in plain text
    std::unique_ptr<AccessControl> access;
  };
  static absl::StatusOr<Door> OpenDoor(const CollectorOptions& options, const Dependencies& dependencies);

  Collector(const CollectorOptions& options, const Dependencies& dependencies, Door door);
  void AddGrpcPort(grpc::ServerBuilder& builder);
  absl::Status StartShards(const std::vector<LoggedJob>& logged);
  void StartShard(size_t index, const std::vector<wire::Incident>& incidents, const std::vector<LoggedJob>& logged);
  absl::Status StartGrpc();
  absl::Status StartHttp();
  void WatchProgress();
  void RenewGauges();
  void RenewHostHistories();
  // What says who gets in.
  std::vector<DoorFile> DoorFiles() const;
  RememberedHosts Remembered() { return {dependencies_.store, hosts_, gpus_}; }
  FleetView MakeView();
  AdminService::Parts MakeAdminParts();
  HangStacks::Parts MakeHangStacksParts();
  SelfProfiles::Parts MakeSelfProfilesParts();
  // False when the shard of the job has too much to do. REQUIRES: the shards have begun.
  bool RunOnShard(const std::string& job, std::function<void(JobTable&)> task) {
    return shards_[ShardOfJob(job, shards_.size())]->TryRun(std::move(task));
  }
  std::vector<std::shared_ptr<const JobsSnapshot>> Snapshots() const;

  const CollectorOptions options_;
  const Dependencies dependencies_;
  const int64_t started_wall_ns_;
  std::atomic<int64_t> forget_jobs_after_ns_;
  std::atomic<bool> serving_{false};
  std::atomic<uint64_t> housekeepings_{0};
  bool drained_ = false;

  // In the order of construction; what is below may use what is above.
  const Door door_;
  AuditLog audit_;
  IncidentIndex incidents_;
  IncidentIds incident_ids_;
  MaintenanceBook maintenance_;
  HostScoresMetric host_scores_;
  AgentRegistry agents_;
  FailingSources sources_;
  GpuDirectory gpus_;
  ExpectedHosts hosts_;
  StoreWriter writer_;
  IncidentOutbox outbox_;
  IncidentHook hook_;    // in front of the outbox
  QueryWorker worker_;   // of queries
  QueryWorker lookups_;  // of agents that come
  Router router_;
  DoorAudit door_audit_;
  BackupRunner backups_;
  DemandBook demands_;
  HangStacks hang_stacks_;  // in front of the hook
  SelfProfiles self_profiles_;
  std::vector<std::unique_ptr<Shard>> shards_;
  IngestService ingest_;
  QueryService query_;
  AdminService admin_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;  // outlive the server's connections
  std::unique_ptr<grpc::Server> server_;
  int grpc_port_ = 0;
  std::unique_ptr<IngestProbe> probe_;
  ProgressWatch watch_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_COLLECTOR_H_
