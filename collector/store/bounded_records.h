// Records of the history store under one prefix of keys, held to a number and to bytes: what has the lowest keys goes
// first, with the write that needs its room.
//
// Thread-safe. Errors as in history_store.h.

#ifndef LOCKSTEP_COLLECTOR_STORE_BOUNDED_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_BOUNDED_RECORDS_H_

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "collector/store/rocks_database.h"

namespace lockstep {

struct RecordLimits {
  size_t records;
  size_t bytes = std::numeric_limits<size_t>::max();  // of keys and values
};

class BoundedRecords {
 public:
  // `database` is borrowed. REQUIRES: limits.records > 0.
  BoundedRecords(RocksDatabase& database, std::string prefix, const RecordLimits& limits)
      : database_(database), prefix_(std::move(prefix)), limits_(limits) {}

  // Not synced. How many others had to go.
  absl::StatusOr<size_t> Put(const std::string& key, const std::string& value);

  // Of those keys, not synced.
  absl::Status Remove(const std::vector<std::string>& keys);

 private:
  // Learns once what an earlier life has kept.
  absl::Status Count() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RocksDatabase& database_;
  const std::string prefix_;
  const RecordLimits limits_;
  Mutex mutex_;
  bool counted_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, size_t> kept_ ABSL_GUARDED_BY(mutex_);  // bytes by key; at most limits_.records
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_BOUNDED_RECORDS_H_
