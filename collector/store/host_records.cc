#include "collector/store/host_records.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/record_scan.h"
#include "collector/store/values.h"

namespace lockstep {

void AddHostRecords(RocksDatabase& database, const std::vector<SeenHost>& hosts, rocksdb::WriteBatch& batch) {
  for (const SeenHost& host : hosts) {
    database.Put(batch, Family::kMeta, absl::StrCat(kHostKeyPrefix, host.name), EncodeSeen(host.last_report_wall_ns));
  }
}

absl::Status NewHostRecords::Add(const std::vector<ReportMark>& marks, int64_t now_wall_ns,
                                 rocksdb::WriteBatch& batch) {
  if (!loaded_) {
    ASSIGN_OR_RETURN(const std::vector<SeenHost> hosts, ReadHostRecords(database_, corrupt_));
    for (const SeenHost& host : hosts) known_.insert(host.name);
    loaded_ = true;
  }
  for (const ReportMark& mark : marks) {
    if (known_.size() >= kMaxSeenHosts || known_.contains(mark.host)) continue;
    ASSIGN_OR_RETURN(const std::optional<std::string> record,
                     database_.Get(Family::kMeta, absl::StrCat(kHostKeyPrefix, mark.host)));
    if (record.has_value()) {
      known_.insert(mark.host);
    } else {
      AddHostRecords(database_, {{mark.host, now_wall_ns}}, batch);
    }
  }
  return absl::OkStatus();
}

void NewHostRecords::Remove(const std::string& name, rocksdb::WriteBatch& batch) {
  known_.erase(name);
  database_.Delete(batch, Family::kMeta, absl::StrCat(kHostKeyPrefix, name));
}

absl::StatusOr<std::vector<SeenHost>> ReadHostRecords(RocksDatabase& database, CorruptRecords& corrupt) {
  std::vector<SeenHost> hosts;
  const auto take = [&](absl::string_view key, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(const int64_t seen, DecodeSeen(value));
    hosts.push_back({std::string(key.substr(kHostKeyPrefix.size())), seen});
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database, Family::kMeta, kHostKeyPrefix, corrupt, take));
  return hosts;
}

}  // namespace lockstep
