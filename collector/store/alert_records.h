// Changes of incidents that receivers have yet to hear of, as records of the history store.

#ifndef LOCKSTEP_COLLECTOR_STORE_ALERT_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_ALERT_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

// Adds to `batch` one record of the event per receiver.
void AddAlertRecords(RocksDatabase& database, uint64_t number, const wire::IncidentEvent& event,
                     const std::vector<std::string>& receivers, rocksdb::WriteBatch& batch);

// Adds to `batch` what removes those of one receiver.
void AddAlertRemoval(RocksDatabase& database, const std::string& receiver, const std::vector<uint64_t>& numbers,
                     rocksdb::WriteBatch& batch);

// By number. Records that do not decode are left out and counted. Thread-safe.
absl::StatusOr<std::vector<PendingAlert>> ReadAlertRecords(RocksDatabase& database, CorruptRecords& corrupt);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_ALERT_RECORDS_H_
