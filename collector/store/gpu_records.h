// Which GPUs the indices of hosts are, and were, as records of the history store. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_GPU_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_GPU_RECORDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/rocks_database.h"
#include "proto/query.pb.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

// Adds to `batch` what inserts or replaces those of each of `hosts`.
void AddGpuRecords(RocksDatabase& database, const std::vector<wire::HostGpus>& hosts, rocksdb::WriteBatch& batch);

// Adds to `batch` what removes those of `host`.
void RemoveGpuRecord(RocksDatabase& database, const std::string& host, rocksdb::WriteBatch& batch);

// By host. Records that do not decode are left out and counted.
absl::StatusOr<std::vector<wire::HostGpus>> ReadGpuRecords(RocksDatabase& database, CorruptRecords& corrupt);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_GPU_RECORDS_H_
