// Stacks that were taken when incidents opened, as records of the history store: the newest, within a number of bytes.
//
// Thread-safe. Errors as in history_store.h.

#ifndef LOCKSTEP_COLLECTOR_STORE_STACK_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_STACK_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/bounded_records.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/keys.h"
#include "collector/store/rocks_database.h"
#include "proto/stacks.pb.h"

namespace lockstep {

inline constexpr size_t kMaxStackRecords = 2'000;
inline constexpr size_t kMaxStackRecordBytes = size_t{32} << 20;  // of keys and values

class StackRecords {
 public:
  // Both are borrowed.
  StackRecords(RocksDatabase& database, CorruptRecords& corrupt)
      : database_(database),
        corrupt_(corrupt),
        records_(database, std::string(kStackKeyPrefix), {.records = kMaxStackRecords, .bytes = kMaxStackRecordBytes}) {
  }

  // As HistoryStore::PutStacks.
  absl::StatusOr<size_t> Put(uint64_t incident, uint32_t place, const wire::StackDump& dump);

  // As HistoryStore::LoadStacks.
  absl::StatusOr<std::vector<wire::StackDump>> Load(uint64_t incident);

 private:
  RocksDatabase& database_;
  CorruptRecords& corrupt_;
  BoundedRecords records_;  // by incident
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_STACK_RECORDS_H_
