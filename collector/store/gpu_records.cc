#include "collector/store/gpu_records.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/record_scan.h"
#include "collector/store/values.h"

namespace lockstep {

void AddGpuRecords(RocksDatabase& database, const std::vector<wire::HostGpus>& hosts, rocksdb::WriteBatch& batch) {
  for (const wire::HostGpus& host : hosts) {
    database.Put(batch, Family::kMeta, absl::StrCat(kGpusKeyPrefix, host.host()), EncodeHostGpus(host));
  }
}

void RemoveGpuRecord(RocksDatabase& database, const std::string& host, rocksdb::WriteBatch& batch) {
  database.Delete(batch, Family::kMeta, absl::StrCat(kGpusKeyPrefix, host));
}

absl::StatusOr<std::vector<wire::HostGpus>> ReadGpuRecords(RocksDatabase& database, CorruptRecords& corrupt) {
  std::vector<wire::HostGpus> hosts;
  const auto take = [&](absl::string_view /*key*/, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(wire::HostGpus host, DecodeHostGpus(value));
    hosts.push_back(std::move(host));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database, Family::kMeta, kGpusKeyPrefix, corrupt, take));
  return hosts;
}

}  // namespace lockstep
