// The input log as it is on disk: which jobs have one, and what is in it.
//
// Thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STORE_LOG_READER_H_
#define LOCKSTEP_COLLECTOR_STORE_LOG_READER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/history_store.h"
#include "collector/store/rocks_database.h"
#include "proto/capture.pb.h"

namespace lockstep {

class LogReader {
 public:
  // References are borrowed.
  LogReader(RocksDatabase& database, CorruptRecords& corrupt) : database_(database), corrupt_(corrupt) {}

  // Jobs whose log has an entry, by name. Index entries that do not decode are skipped and counted.
  absl::StatusOr<std::vector<LoggedJob>> Jobs();

  // As HistoryStore::ScanLog. Goes on behind a chunk that does not decode, and then gives DATA_LOSS with its key.
  absl::Status Scan(const std::string& job, int64_t from_wall_ns, int64_t to_wall_ns,
                    const std::function<bool(const wire::CaptureEntry&)>& visit);

 private:
  RocksDatabase& database_;
  CorruptRecords& corrupt_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_LOG_READER_H_
