#include "collector/store/thread_records.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/values.h"

namespace lockstep {

// Not synced: what tells history that the receiver has taken the message is, and comes after it.
absl::StatusOr<size_t> ThreadRecords::Put(const AlertThread& thread) {
  return records_.Put(EncodeThreadKey({thread.incident, thread.receiver}),
                      EncodeThread({thread.channel, thread.thread}));
}

absl::StatusOr<std::vector<AlertThread>> ThreadRecords::Load(const std::vector<wire::Incident>& incidents) {
  std::set<uint64_t> ids;
  for (const wire::Incident& incident : incidents) ids.insert(incident.id());
  std::vector<AlertThread> threads;
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
                                     leave.emplace_back(bytes);
                                   }
                                   return true;
                                 }));
  RETURN_IF_ERROR(records_.Remove(leave));
  return threads;
}

}  // namespace lockstep
