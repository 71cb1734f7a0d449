#include "collector/store/thread_records.h"

#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/values.h"
#include "rocksdb/write_batch.h"

namespace lockstep {

absl::Status ThreadRecords::Count() {
  if (counted_) return absl::OkStatus();
  std::set<std::string> kept;
  RETURN_IF_ERROR(database_.Scan(Family::kMeta, kThreadKeyPrefix, PrefixEnd(std::string(kThreadKeyPrefix)), nullptr,
                                 [&](absl::string_view key, absl::string_view /*value*/) {
                                   kept.emplace(key);
                                   return true;
                                 }));
  kept_ = std::move(kept);
  counted_ = true;
  return absl::OkStatus();
}

// Not synced: what tells history that the receiver has taken the message is, and comes after it.
absl::StatusOr<size_t> ThreadRecords::Put(const AlertThread& thread) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(Count());
  const std::string key = EncodeThreadKey({thread.incident, thread.receiver});
  rocksdb::WriteBatch batch;
  database_.Put(batch, Family::kMeta, key, EncodeThread({thread.channel, thread.thread}));
  size_t left = kept_.size() + (kept_.contains(key) ? 0 : 1);
  std::vector<std::string> leave;
  for (const std::string& old_key : kept_) {
    if (left <= kMaxThreadRecords) break;
    database_.Delete(batch, Family::kMeta, old_key);
    leave.push_back(old_key);
    --left;
  }
  RETURN_IF_ERROR(database_.Write(batch, /*sync=*/false));
  for (const std::string& old_key : leave) kept_.erase(old_key);
  kept_.insert(key);
  return leave.size();
}

absl::StatusOr<std::vector<AlertThread>> ThreadRecords::Load(const std::vector<wire::Incident>& incidents) {
  std::set<uint64_t> ids;
  for (const wire::Incident& incident : incidents) ids.insert(incident.id());
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(Count());
  std::vector<AlertThread> threads;
  rocksdb::WriteBatch batch;
  std::vector<std::string> leave;
  RETURN_IF_ERROR(database_.Scan(Family::kMeta, kThreadKeyPrefix, PrefixEnd(std::string(kThreadKeyPrefix)), nullptr,
                                 [&](absl::string_view bytes, absl::string_view value) {
                                   absl::StatusOr<ThreadKey> key = DecodeThreadKey(bytes);
                                   absl::StatusOr<ThreadValue> thread = DecodeThread(value);
                                   if (!key.ok() || !thread.ok()) {
                                     corrupt_.Count(Family::kMeta, bytes, key.ok() ? thread.status() : key.status());
                                   } else if (ids.contains(key->incident)) {
                                     threads.push_back({key->incident, std::move(key->receiver),
                                                        std::move(thread->channel), std::move(thread->thread)});
                                   } else {
                                     database_.Delete(batch, Family::kMeta, bytes);
                                     leave.emplace_back(bytes);
                                   }
                                   return true;
                                 }));
  if (leave.empty()) return threads;
  RETURN_IF_ERROR(database_.Write(batch, /*sync=*/false));
  for (const std::string& old_key : leave) kept_.erase(old_key);
  return threads;
}

}  // namespace lockstep
