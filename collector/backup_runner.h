// The thread on which a backup is taken, so that neither gRPC's threads nor queries wait for it. One backup at a time.
//
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_BACKUP_RUNNER_H_
#define LOCKSTEP_COLLECTOR_BACKUP_RUNNER_H_

#include <atomic>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "collector/metrics.h"
#include "collector/query_worker.h"
#include "collector/store/history_backups.h"

namespace lockstep {

class BackupRunner {
 public:
  // `backups` nullptr = this collector takes none. All are borrowed.
  BackupRunner(HistoryBackups* backups, const Clock& clock, BackupMetrics& metrics)
      : backups_(backups), clock_(clock), metrics_(metrics) {}

  // Calls `done` with the directory of the backup, or what went wrong, when it is taken. Without a call, an error:
  // FAILED_PRECONDITION where none are taken, RESOURCE_EXHAUSTED while another one is under way.
  using Done = std::function<void(const absl::StatusOr<std::string>& directory)>;
  absl::Status Run(Done done);

  // Waits for the one that is under way. Idempotent.
  void Close() { worker_.Close(); }

 private:
  absl::StatusOr<std::string> Take();

  HistoryBackups* const backups_;
  const Clock& clock_;
  BackupMetrics& metrics_;
  std::atomic<bool> under_way_{false};
  QueryWorker worker_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_BACKUP_RUNNER_H_
