// Where receivers of alerts keep what they were told, as records of the history store: one per incident and receiver,
// those of the newest incidents.
//
// Thread-safe. Errors as in history_store.h.

#ifndef LOCKSTEP_COLLECTOR_STORE_THREAD_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_THREAD_RECORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/alert/alert_thread.h"
#include "collector/store/bounded_records.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/keys.h"
#include "collector/store/rocks_database.h"
#include "proto/incident.pb.h"

namespace lockstep {

inline constexpr size_t kMaxThreadRecords = 20'000;  // over all receivers

class ThreadRecords {
 public:
  // Both are borrowed.
  ThreadRecords(RocksDatabase& database, CorruptRecords& corrupt)
      : database_(database),
        corrupt_(corrupt),
        records_(database, std::string(kThreadKeyPrefix), {.records = kMaxThreadRecords}) {}

  // As HistoryStore::PutThread.
  absl::StatusOr<size_t> Put(const AlertThread& thread);

  // By incident. Removes the records of all incidents that are not among `incidents`.
  absl::StatusOr<std::vector<AlertThread>> Load(const std::vector<wire::Incident>& incidents);

 private:
  RocksDatabase& database_;
  CorruptRecords& corrupt_;
  BoundedRecords records_;  // by incident
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_THREAD_RECORDS_H_
