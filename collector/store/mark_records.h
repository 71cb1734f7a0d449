// How far the reports of agents are stored, as records of the history store. Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_MARK_RECORDS_H_
#define LOCKSTEP_COLLECTOR_STORE_MARK_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "collector/store/values.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

// Adds to `batch` the newest report of each incarnation.
void AddMarks(RocksDatabase& database, const std::vector<ReportMark>& marks, int64_t now_wall_ns,
              rocksdb::WriteBatch& batch);

// Empty if there is none. DATA_LOSS for one that does not decode.
absl::StatusOr<std::optional<MarkValue>> ReadMark(RocksDatabase& database, const std::string& host,
                                                  uint64_t incarnation);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_MARK_RECORDS_H_
