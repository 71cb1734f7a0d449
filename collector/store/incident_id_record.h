// Up to where ids of incidents may be given out, as a record of the history store.

#ifndef LOCKSTEP_COLLECTOR_STORE_INCIDENT_ID_RECORD_H_
#define LOCKSTEP_COLLECTOR_STORE_INCIDENT_ID_RECORD_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/rocks_database.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

// Adds to `batch` what replaces the record.
void AddIncidentIds(RocksDatabase& database, uint64_t id, rocksdb::WriteBatch& batch);

// 0 = there is none, or one that does not decode, which is counted. Thread-safe.
absl::StatusOr<uint64_t> ReadIncidentIds(RocksDatabase& database, CorruptRecords& corrupt);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_INCIDENT_ID_RECORD_H_
