#include "collector/store/host_records.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/values.h"

namespace lockstep {

void AddHostRecords(RocksDatabase& database, const std::vector<SeenHost>& hosts, rocksdb::WriteBatch& batch) {
  for (const SeenHost& host : hosts) {
    database.Put(batch, Family::kMeta, absl::StrCat(kHostKeyPrefix, host.name), EncodeSeen(host.last_report_wall_ns));
  }
}

void AddHostRemoval(RocksDatabase& database, const std::string& name, rocksdb::WriteBatch& batch) {
  database.Delete(batch, Family::kMeta, absl::StrCat(kHostKeyPrefix, name));
}

absl::StatusOr<std::vector<SeenHost>> ReadHostRecords(RocksDatabase& database, CorruptRecords& corrupt) {
  std::vector<SeenHost> hosts;
  RETURN_IF_ERROR(database.Scan(Family::kMeta, kHostKeyPrefix, PrefixEnd(std::string(kHostKeyPrefix)), nullptr,
                                [&](absl::string_view key, absl::string_view value) {
                                  const absl::StatusOr<int64_t> seen = DecodeSeen(value);
                                  if (seen.ok()) {
                                    hosts.push_back({std::string(key.substr(kHostKeyPrefix.size())), *seen});
                                  } else {
                                    corrupt.Count(Family::kMeta, key, seen.status());
                                  }
                                  return true;
                                }));
  return hosts;
}

}  // namespace lockstep
