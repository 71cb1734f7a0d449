// Changes of incidents that receivers have yet to hear of, as records of the history store.

#ifndef LOCKSTEP_COLLECTOR_STORE_ALERT_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_ALERT_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
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

// Adds to `batch` one record of the event per receiver.
void AddAlertRecords(RocksDatabase& database, uint64_t number, const wire::IncidentEvent& event,
                     const std::vector<std::string>& receivers, rocksdb::WriteBatch& batch);

// Removes what receivers have taken. What the disk refuses to forget goes with the next removal of the same receiver:
// were the end of an incident forgotten alone, a restart would tell what came before it, and never the end.
//
// Not thread-safe.
class AlertRemovals {
 public:
  // Of one receiver; as many as may wait for it. Beyond, the oldest are told once more after a restart.
  static constexpr size_t kMaxRefused = 1'000;

  explicit AlertRemovals(RocksDatabase& database) : database_(database) {}

  // Adds to `batch` what removes these, and those that were refused before.
  void Add(const std::string& receiver, const std::vector<uint64_t>& numbers, rocksdb::WriteBatch& batch);

  // What became of that batch: gives `status` back.
  absl::Status Note(const std::string& receiver, absl::Status status);

 private:
  RocksDatabase& database_;
  std::map<std::string, std::set<uint64_t>> refused_;  // by receiver
};

// By number. Records that do not decode are left out and counted. Thread-safe.
absl::StatusOr<std::vector<PendingAlert>> ReadAlertRecords(RocksDatabase& database, CorruptRecords& corrupt);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_ALERT_RECORDS_H_
