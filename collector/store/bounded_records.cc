#include "collector/store/bounded_records.h"

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

absl::Status BoundedRecords::Count() {
  if (counted_) return absl::OkStatus();
  std::map<std::string, size_t> kept;
  size_t bytes = 0;
  RETURN_IF_ERROR(database_.Scan(Family::kMeta, prefix_, PrefixEnd(prefix_), nullptr,
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

absl::StatusOr<size_t> BoundedRecords::Put(const std::string& key, const std::string& value) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(Count());
  const size_t bytes = key.size() + value.size();
  rocksdb::WriteBatch batch;
  database_.Put(batch, Family::kMeta, key, value);
  const auto same = kept_.find(key);
  size_t left_bytes = bytes_ - (same == kept_.end() ? 0 : same->second);
  size_t left = kept_.size() - (same == kept_.end() ? 0 : 1);
  std::vector<std::string> leave;
  for (const auto& [old_key, old_bytes] : kept_) {
    if (left < limits_.records && left_bytes + bytes <= limits_.bytes) break;
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

absl::Status BoundedRecords::Remove(const std::vector<std::string>& keys) {
  if (keys.empty()) return absl::OkStatus();
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(Count());
  rocksdb::WriteBatch batch;
  for (const std::string& key : keys) database_.Delete(batch, Family::kMeta, key);
  RETURN_IF_ERROR(database_.Write(batch, /*sync=*/false));
  for (const std::string& key : keys) {
    const auto found = kept_.find(key);
    if (found == kept_.end()) continue;
    bytes_ -= found->second;
    kept_.erase(found);
  }
  return absl::OkStatus();
}

}  // namespace lockstep
