// The hosts that have reported, as records of the history store.
//
// A host gets its record in the batch of its first mark: once a report is acknowledged, a loss of power cannot make its
// host unknown. Later records only move the time of the last report.

#ifndef LOCKSTEP_COLLECTOR_STORE_HOST_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_HOST_RECORDS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

// Adds to `batch` what inserts or replaces `hosts`.
void AddHostRecords(RocksDatabase& database, const std::vector<SeenHost>& hosts, rocksdb::WriteBatch& batch);

// Adds the record of a host that has none, and removes it. Not thread-safe.
class NewHostRecords {
 public:
  // References are borrowed.
  NewHostRecords(RocksDatabase& database, CorruptRecords& corrupt) : database_(database), corrupt_(corrupt) {}

  // Adds to `batch` a record for each host of `marks` that has none on disk. If the batch cannot be written, the next
  // call adds them again. None are added beyond kMaxSeenHosts: ExpectedHosts counts those.
  absl::Status Add(const std::vector<ReportMark>& marks, int64_t now_wall_ns, rocksdb::WriteBatch& batch);

  // Adds to `batch` what removes `name`.
  void Remove(const std::string& name, rocksdb::WriteBatch& batch);

 private:
  RocksDatabase& database_;
  CorruptRecords& corrupt_;
  bool loaded_ = false;
  std::set<std::string> known_;  // hosts whose record was found on disk
};

// By name. Records that do not decode are left out and counted. Thread-safe.
absl::StatusOr<std::vector<SeenHost>> ReadHostRecords(RocksDatabase& database, CorruptRecords& corrupt);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_HOST_RECORDS_H_
