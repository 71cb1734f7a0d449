// What receivers of alerts were told last, as records of the history store: one per incident and receiver, those of the
// newest incidents.
//
// Thread-safe. Errors as in history_store.h.

#ifndef LOCKSTEP_COLLECTOR_STORE_TOLD_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_TOLD_RECORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/alert/told_alert.h"
#include "collector/store/bounded_records.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/keys.h"
#include "collector/store/rocks_database.h"
#include "proto/incident.pb.h"

namespace lockstep {

// Over all receivers. A thread has 30 to 100 bytes; what a receiver answers may be a thousand times as long.
inline constexpr size_t kMaxToldRecords = 20'000;
inline constexpr size_t kMaxToldBytes = 8 << 20;

class ToldRecords {
 public:
  // Both are borrowed.
  ToldRecords(RocksDatabase& database, CorruptRecords& corrupt)
      : database_(database),
        corrupt_(corrupt),
        records_(database, std::string(kToldKeyPrefix), {.records = kMaxToldRecords, .bytes = kMaxToldBytes}) {}

  // As HistoryStore::PutTold.
  absl::StatusOr<size_t> Put(const ToldAlert& told);

  // By incident. Removes the records of all incidents that are not among `incidents`.
  absl::StatusOr<std::vector<ToldAlert>> Load(const std::vector<wire::Incident>& incidents);

 private:
  RocksDatabase& database_;
  CorruptRecords& corrupt_;
  BoundedRecords records_;  // by incident
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_TOLD_RECORDS_H_
