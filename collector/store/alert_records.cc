#include "collector/store/alert_records.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/keys.h"
#include "collector/store/record_scan.h"
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
  const auto take = [&](absl::string_view key, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(AlertKey alert, DecodeAlertKey(key));
    ASSIGN_OR_RETURN(wire::IncidentEvent event, DecodeIncidentEvent(value));
    alerts.push_back({alert.number, std::move(alert.receiver), std::move(event)});
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database, Family::kMeta, kAlertKeyPrefix, corrupt, take));
  return alerts;
}

}  // namespace lockstep
