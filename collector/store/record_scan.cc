#include "collector/store/record_scan.h"

#include <string>

#include "collector/store/keys.h"

namespace lockstep {

absl::Status ScanRecords(RocksDatabase& database, Family family, absl::string_view prefix, CorruptRecords& corrupt,
                         absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> take) {
  return database.Scan(family, prefix, PrefixEnd(std::string(prefix)), nullptr,
                       [&](absl::string_view key, absl::string_view value) {
                         const absl::Status taken = take(key, value);
                         if (!taken.ok()) corrupt.Count(family, key, taken);
                         return true;
                       });
}

}  // namespace lockstep
