// Backups of a running history: each is a directory of its own, named by the second in which it was begun, that a
// collector opens as its data directory.
//
//   /var/lib/lockstep-backups/history-20260102T030405Z
//
// The newest `keep` are kept, as far as they take no more than `max_bytes` together; the newest one always. What has
// another name is never touched, but for what a backup that was killed left behind. Not thread-safe: one backup at a
// time; history is written and read meanwhile.

#ifndef LOCKSTEP_COLLECTOR_STORE_HISTORY_BACKUPS_H_
#define LOCKSTEP_COLLECTOR_STORE_HISTORY_BACKUPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "collector/store/rocks_store.h"

namespace lockstep {

struct HistoryBackupOptions {
  std::string directory;  // where they are; made if it is missing, but not its parent; "" = none are taken
  size_t keep = 7;        // at least 1
  uint64_t max_bytes = uint64_t{100} << 30;  // on disk; what backups share counts once
};

class HistoryBackups {
 public:
  // References are borrowed.
  HistoryBackups(HistoryBackupOptions options, RocksStore& store, const Clock& clock)
      : options_(std::move(options)), store_(store), clock_(clock) {}

  // Takes one and gives its directory; then removes those that are too many. FAILED_PRECONDITION when there is no place
  // for backups or the name is taken, RESOURCE_EXHAUSTED for a full disk, INTERNAL for one that refuses. After an error
  // there are the backups from before, and history is as it was.
  absl::StatusOr<std::string> Take();

 private:
  absl::Status PreparePlace() const;
  void RemoveOldest(const std::string& newest) const;
  uint64_t BytesOfAll() const;

  const HistoryBackupOptions options_;
  RocksStore& store_;
  const Clock& clock_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_HISTORY_BACKUPS_H_
