#include "collector/store/alert_records.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/values.h"

namespace lockstep {

void AddAlertRecords(RocksDatabase& database, uint64_t number, const wire::IncidentEvent& event,
                     const std::vector<std::string>& receivers, rocksdb::WriteBatch& batch) {
  for (const std::string& receiver : receivers) {
    database.Put(batch, Family::kMeta, EncodeAlertKey({number, receiver}), EncodeIncidentEvent(event));
  }
}

void AlertRemovals::Add(const std::string& receiver, const std::vector<uint64_t>& numbers, rocksdb::WriteBatch& batch) {
  std::set<uint64_t>& leaving = refused_[receiver];
  leaving.insert(numbers.begin(), numbers.end());
  for (const uint64_t number : leaving) database_.Delete(batch, Family::kMeta, EncodeAlertKey({number, receiver}));
}

absl::Status AlertRemovals::Note(const std::string& receiver, absl::Status status) {
  std::set<uint64_t>& leaving = refused_[receiver];
  while (leaving.size() > kMaxRefused) leaving.erase(leaving.begin());
  if (status.ok()) refused_.erase(receiver);
  return status;
}

absl::StatusOr<std::vector<PendingAlert>> ReadAlertRecords(RocksDatabase& database, CorruptRecords& corrupt) {
  std::vector<PendingAlert> alerts;
  RETURN_IF_ERROR(database.Scan(Family::kMeta, kAlertKeyPrefix, PrefixEnd(std::string(kAlertKeyPrefix)), nullptr,
                                [&](absl::string_view key, absl::string_view value) {
                                  absl::StatusOr<AlertKey> alert = DecodeAlertKey(key);
                                  absl::StatusOr<wire::IncidentEvent> event = DecodeIncidentEvent(value);
                                  if (alert.ok() && event.ok()) {
                                    alerts.push_back({alert->number, alert->receiver, *std::move(event)});
                                  } else {
                                    corrupt.Count(Family::kMeta, key, alert.ok() ? event.status() : alert.status());
                                  }
                                  return true;
                                }));
  return alerts;
}

}  // namespace lockstep
