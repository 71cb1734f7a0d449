// Windows of maintenance, as records of the history store.

#ifndef LOCKSTEP_COLLECTOR_STORE_MAINTENANCE_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_MAINTENANCE_RECORDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/rocks_database.h"
#include "proto/incident.pb.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

// Adds to `batch` what inserts or replaces `window`, by its id, and removes the windows of the ids `gone`.
void AddMaintenance(RocksDatabase& database, const wire::MaintenanceWindow& window, const std::vector<uint64_t>& gone,
                    rocksdb::WriteBatch& batch);

// By id. Records that do not decode are left out and counted. Thread-safe.
absl::StatusOr<std::vector<wire::MaintenanceWindow>> ReadMaintenanceRecords(RocksDatabase& database,
                                                                            CorruptRecords& corrupt);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_MAINTENANCE_RECORDS_H_
