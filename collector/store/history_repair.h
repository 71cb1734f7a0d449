// Salvages a damaged history: RocksDB makes a database again of the files that can be read.
//
// Tables that cannot be read, and the logs and manifests that were used up, are moved to `lost` in the directory. Lost
// is a table as a whole, be it damaged in one block only, and what only the damaged files held. What was deleted or
// expired may come back, and leaves again by retention.
//
// Takes the lock of the directory. Killed halfway, it may be run again. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_HISTORY_REPAIR_H_
#define LOCKSTEP_COLLECTOR_STORE_HISTORY_REPAIR_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "collector/store/rocks_store.h"

namespace lockstep {

inline constexpr char kLostDirectory[] = "lost";  // RocksDB's name

struct RepairReport {
  bool was_whole = false;                              // every file could be read: nothing was done
  std::string damage;                                  // what was found, in RocksDB's words
  std::vector<std::pair<std::string, uint64_t>> kept;  // records by family
  std::vector<std::string> lost_tables;                // names in `lost`; how much they held is not known
};

// FAILED_PRECONDITION for a directory without history, of a newer schema, or that a process holds; nothing is written
// then. DATA_LOSS if what is left cannot be opened.
absl::StatusOr<RepairReport> RepairHistory(const RocksStoreOptions& options, const Clock& clock);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_HISTORY_REPAIR_H_
