#include "collector/store/stack_records.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/values.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

absl::Status StackRecords::Count() {
  if (counted_) return absl::OkStatus();
  std::map<std::string, size_t> kept;
  size_t bytes = 0;
  RETURN_IF_ERROR(database_.Scan(Family::kMeta, kStackKeyPrefix, PrefixEnd(std::string(kStackKeyPrefix)), nullptr,
                                 [&](absl::string_view key, absl::string_view value) {
                                   kept[std::string(key)] = key.size() + value.size();
                                   bytes += key.size() + value.size();
                                   return true;
                                 }));
  kept_ = std::move(kept);
  bytes_ = bytes;
  counted_ = true;
  return absl::OkStatus();
}

absl::StatusOr<size_t> StackRecords::Put(uint64_t incident, uint32_t place, const wire::StackDump& dump) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(Count());
  const std::string key = EncodeStackKey(incident, place);
  const std::string value = EncodeStackDump(dump);
  const size_t bytes = key.size() + value.size();
  rocksdb::WriteBatch batch;
  database_.Put(batch, Family::kMeta, key, value);
  const auto same = kept_.find(key);
  size_t left_bytes = bytes_ - (same == kept_.end() ? 0 : same->second);
  size_t left = kept_.size() - (same == kept_.end() ? 0 : 1);
  std::vector<std::string> leave;
  for (const auto& [old_key, old_bytes] : kept_) {
    if (left < kMaxStackRecords && left_bytes + bytes <= kMaxStackRecordBytes) break;
    if (old_key == key) continue;
    database_.Delete(batch, Family::kMeta, old_key);
    leave.push_back(old_key);
    left_bytes -= old_bytes;
    --left;
  }
  RETURN_IF_ERROR(database_.Write(batch, /*sync=*/false));
  for (const std::string& old_key : leave) kept_.erase(old_key);
  kept_[key] = bytes;
  bytes_ = left_bytes + bytes;
  return leave.size();
}

absl::StatusOr<std::vector<wire::StackDump>> StackRecords::Load(uint64_t incident) {
  std::vector<wire::StackDump> dumps;
  const std::string prefix = StackKeyPrefix(incident);
  RETURN_IF_ERROR(database_.Scan(Family::kMeta, prefix, PrefixEnd(prefix), nullptr,
                                 [&](absl::string_view key, absl::string_view value) {
                                   absl::StatusOr<wire::StackDump> dump = DecodeStackDump(value);
                                   if (dump.ok()) {
                                     dumps.push_back(*std::move(dump));
                                   } else {
                                     corrupt_.Count(Family::kMeta, key, dump.status());
                                   }
                                   return true;
                                 }));
  return dumps;
}

}  // namespace lockstep
