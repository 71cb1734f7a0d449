#include "collector/backup_runner.h"

#include <cstdint>
#include <utility>

#include "base/log.h"

namespace lockstep {

absl::Status BackupRunner::Run(Done done) {
  if (backups_ == nullptr) return absl::FailedPreconditionError("this collector keeps no history to back up");
  if (under_way_.exchange(true)) return absl::ResourceExhaustedError("a backup is under way");
  const bool taken = worker_.TryRun([this, done = std::move(done)] {
    const absl::StatusOr<std::string> directory = Take();
    under_way_ = false;
    done(directory);
  });
  if (taken) return absl::OkStatus();
  under_way_ = false;
  return absl::ResourceExhaustedError("the collector is about to stop");
}

absl::StatusOr<std::string> BackupRunner::Take() {
  const int64_t begun_ns = clock_.MonotonicNanos();
  const absl::StatusOr<std::string> directory = backups_->Take();
  const std::string took_ms = std::to_string((clock_.MonotonicNanos() - begun_ns) / kNanosPerMilli);
  metrics_.Count(directory.ok());
  if (directory.ok()) {
    metrics_.last_success_seconds.Set(static_cast<double>(clock_.WallNanos()) / kNanosPerSecond);
    Log(LogLevel::kInfo, "history was backed up", {{"backup", *directory}, {"took_ms", took_ms}});
  } else {
    const std::string error(directory.status().message());
    Log(LogLevel::kError, "history was not backed up", {{"error", error}, {"took_ms", took_ms}});
  }
  return directory;
}

}  // namespace lockstep
