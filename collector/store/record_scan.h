// Reads the records of one kind that the history store keeps. Thread-safe, as the database is.

#ifndef LOCKSTEP_COLLECTOR_STORE_RECORD_SCAN_H_
#define LOCKSTEP_COLLECTOR_STORE_RECORD_SCAN_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "collector/store/corrupt_records.h"
#include "collector/store/families.h"
#include "collector/store/rocks_database.h"

namespace lockstep {

// Gives `take` all records whose keys begin with `prefix` ("" = all of the family), by key. One of which `take` says
// why it does not decode is counted. Errors are those of the database.
absl::Status ScanRecords(RocksDatabase& database, Family family, absl::string_view prefix, CorruptRecords& corrupt,
                         absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> take);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_RECORD_SCAN_H_
