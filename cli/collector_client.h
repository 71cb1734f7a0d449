// A collector as function calls: one gRPC channel, one deadline per call, no retries (the person or
// script that typed the command decides whether to try again).
//
// Errors: UNAVAILABLE with one plain line when the collector cannot be reached or does not answer in time; NOT_FOUND,
// INVALID_ARGUMENT and DATA_LOSS as the collector sends them; PERMISSION_DENIED when it does not know who asks, or does
// not allow it; RESOURCE_EXHAUSTED when it has too much to do for this client; INTERNAL for anything else.

#ifndef LOCKSTEP_CLI_COLLECTOR_CLIENT_H_
#define LOCKSTEP_CLI_COLLECTOR_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/tls/channel_security.h"
#include "proto/admin.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

// INVALID_ARGUMENT unless `address` reads HOST:PORT or unix:PATH. Pure.
absl::Status CheckCollectorAddress(const std::string& address);

// What opens the door of a collector. Plain value.
struct CollectorKeys {
  ChannelSecurity security;
  std::string token_file;  // holds one token, which is sent over TLS only; "" = none
};

// Thread-safe.
class CollectorClient {
 public:
  static constexpr int64_t kDefaultDeadlineNanos = 5'000'000'000;
  // A whole capture may be long; it streams, so this bounds only a collector that went silent.
  static constexpr int64_t kCaptureDeadlineNanos = 600'000'000'000;
  // A disk of its own is given a copy of all that history holds.
  static constexpr int64_t kBackupDeadlineNanos = 3'600'000'000'000;
  // The collector gives agents up before.
  static constexpr int64_t kDemandDeadlineNanos = 240'000'000'000;
  static constexpr int kMaxMessageBytes = 64 << 20;

  // Connects when first used. `address` has passed CheckCollectorAddress. `named_by`: the option that names another
  // collector, for the line that says that this one cannot be reached. Keys are read here; what is wrong with them is
  // the INVALID_ARGUMENT of every call.
  explicit CollectorClient(const std::string& address, int64_t deadline_nanos = kDefaultDeadlineNanos,
                           const std::string& named_by = "--collector or LOCKSTEP_COLLECTOR",
                           const CollectorKeys& keys = {});
  ~CollectorClient();
  CollectorClient(const CollectorClient&) = delete;
  CollectorClient& operator=(const CollectorClient&) = delete;

  // The time line of a collector that does not tell it is the system's clock.
  absl::StatusOr<wire::GetStatusResponse> GetStatus(const wire::GetStatusRequest& request = {});
  // Now, on the collector's time line: all that it tells of the past is on that, and this machine's clock may be wrong.
  absl::StatusOr<int64_t> NowWallNanos();
  // INVALID_ARGUMENT for a host that reports or is in the inventory.
  absl::Status ForgetHost(const std::string& host);
  // Waits until it is taken. INVALID_ARGUMENT for a collector without a place for backups.
  absl::StatusOr<wire::BackupResponse> Backup();
  // The incident as it is from now on, or with `undo` without who has it in hand. INVALID_ARGUMENT for one that is not
  // open.
  absl::StatusOr<wire::Incident> Acknowledge(uint64_t id, const std::string& note, bool undo);
  // Likewise: nobody is called about it until a time of the collector's, 0 = from now on again; somebody says that it
  // is over; somebody says something of it.
  absl::StatusOr<wire::Incident> Silence(uint64_t id, int64_t until_wall_ns, const std::string& note);
  absl::StatusOr<wire::Incident> Resolve(uint64_t id, const std::string& note);
  absl::StatusOr<wire::Incident> Comment(uint64_t id, const std::string& text);
  absl::StatusOr<wire::ListMaintenanceResponse> ListMaintenance(bool with_past);
  absl::StatusOr<wire::MaintenanceWindow> AddMaintenance(const wire::AddMaintenanceRequest& request);
  absl::StatusOr<wire::MaintenanceWindow> EndMaintenance(uint64_t id);
  absl::StatusOr<wire::ListAuditResponse> ListAudit(const wire::ListAuditRequest& request);
  // Has agents look at processes, and calls `take` for every answer as it comes.
  absl::Status OnDemand(const wire::OnDemandRequest& request,
                        const std::function<void(const wire::OnDemandAnswer&)>& take);
  absl::StatusOr<wire::ListJobsResponse> ListJobs();
  absl::StatusOr<wire::ListRanksResponse> ListRanks(const wire::ListRanksRequest& request);
  absl::StatusOr<wire::ListIncidentsResponse> ListIncidents(const wire::ListIncidentsRequest& request);
  absl::StatusOr<wire::Incident> GetIncident(uint64_t id);
  // What was kept of the stacks of a hang; empty also from a collector that does not know of any.
  absl::StatusOr<wire::GetStacksResponse> GetStacks(uint64_t incident);
  // Empty also from a collector that does not know of any.
  absl::StatusOr<wire::ListGpusResponse> ListGpus(const wire::ListGpusRequest& request);
  absl::StatusOr<wire::GetHistoryResponse> GetHistory(const wire::GetHistoryRequest& request);

  // Calls `visit` for every entry in order. An error of `visit` ends the stream and is returned.
  absl::Status Capture(const wire::CaptureRequest& request,
                       const std::function<absl::Status(const wire::CaptureEntry&)>& visit);

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COLLECTOR_CLIENT_H_
