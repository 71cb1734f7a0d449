// The hosts that have reported, as records of the history store.

#ifndef LOCKSTEP_COLLECTOR_STORE_HOST_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_HOST_RECORDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

// Adds to `batch` what inserts or replaces `hosts`.
void AddHostRecords(RocksDatabase& database, const std::vector<SeenHost>& hosts, rocksdb::WriteBatch& batch);

// Adds to `batch` what removes `name`.
void AddHostRemoval(RocksDatabase& database, const std::string& name, rocksdb::WriteBatch& batch);

// By name. Records that do not decode are left out and counted. Thread-safe.
absl::StatusOr<std::vector<SeenHost>> ReadHostRecords(RocksDatabase& database, CorruptRecords& corrupt);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_HOST_RECORDS_H_
