// The column families of the history store: one row each, by lifetime and by how they are read.
//
// Pure, except that the filters which they carry read the clock and count. Names are on disk: never change one.

#ifndef LOCKSTEP_COLLECTOR_STORE_FAMILIES_H_
#define LOCKSTEP_COLLECTOR_STORE_FAMILIES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "collector/store/history_age.h"
#include "collector/store/retention.h"
#include "collector/store/rocks_store.h"
#include "rocksdb/db.h"

namespace lockstep {

enum class Family : uint8_t { kDefault, kMeta, kJobs, kLog, kMarks, kSeries, kChunks, kRollups, kIncidents };
inline constexpr size_t kFamilies = 9;

// What compactions count and need to know. Outlives the database.
struct FamilyState {
  HistoryAge age;
  std::atomic<uint64_t> newest_incident_id{0};  // never expires, so that its id is never given out again
  std::atomic<bool> background_error{false};    // something has failed since it was last looked at
  std::atomic<uint64_t> broken_log_records{0};  // of the write-ahead log, when it was read again
  std::array<RemovedCounts, kFamilies> removed;
  std::array<EarlyCutoff, kFamilies> early;

  RemovedCounts& removed_of(Family family) { return removed[static_cast<size_t>(family)]; }
  EarlyCutoff& early_of(Family family) { return early[static_cast<size_t>(family)]; }
};

// By Family. `options`, `clock` and `state` must outlive the database.
std::vector<rocksdb::ColumnFamilyDescriptor> FamilyDescriptors(const RocksStoreOptions& options, const Clock& clock,
                                                               FamilyState& state);

const char* FamilyName(Family family);

// How long its records are kept after they were last of use, and how many bytes of disk it may take; 0 = without end.
int64_t RetentionOf(Family family, const RocksStoreOptions& options);
uint64_t MaxBytesOf(Family family, const RocksStoreOptions& options);

// Whether the keys are TimedKeys and bloom filters are on their id.
bool HasIdPrefix(Family family);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_FAMILIES_H_
