// The column families of the history store: one row each, by lifetime and by how they are read.
//
// Pure, except that the filters which they carry read the clock and count. Names are on disk: never change one.

#ifndef LOCKSTEP_COLLECTOR_STORE_FAMILIES_H_
#define LOCKSTEP_COLLECTOR_STORE_FAMILIES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "collector/store/rocks_store.h"
#include "rocksdb/db.h"

namespace lockstep {

enum class Family : uint8_t { kDefault, kMeta, kJobs, kLog, kMarks, kSeries, kChunks, kRollups, kIncidents };
inline constexpr size_t kFamilies = 9;

// What compactions count and need to know. Outlives the database.
struct FamilyState {
  std::atomic<uint64_t> expired_records{0};
  std::atomic<uint64_t> deleted_log_bytes{0};
  std::atomic<uint64_t> newest_incident_id{0};  // never expires, so that its id is never given out again
};

// By Family. `options`, `clock` and `state` must outlive the database.
std::vector<rocksdb::ColumnFamilyDescriptor> FamilyDescriptors(const RocksStoreOptions& options, const Clock& clock,
                                                               FamilyState& state);

const char* FamilyName(Family family);

// Whether the keys are TimedKeys and bloom filters are on their id.
bool HasIdPrefix(Family family);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_FAMILIES_H_
