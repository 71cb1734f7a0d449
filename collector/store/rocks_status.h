// RocksDB's errors in our words. Pure.

#ifndef LOCKSTEP_COLLECTOR_STORE_ROCKS_STATUS_H_
#define LOCKSTEP_COLLECTOR_STORE_ROCKS_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rocksdb/status.h"

namespace lockstep {

// How an I/O error says that the disk is full, where it does not say so by its code (retryable_file_system.h).
inline constexpr char kNoSpaceText[] = "No space left on device";

// RESOURCE_EXHAUSTED for a full disk, UNAVAILABLE for one that refuses, DATA_LOSS for corruption, NOT_FOUND, and
// INTERNAL for what only wrong use of RocksDB can cause. `what` was being done.
absl::Status ToStatus(const rocksdb::Status& status, absl::string_view what);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_ROCKS_STATUS_H_
