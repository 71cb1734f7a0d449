#include "collector/store/told_records.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/record_scan.h"
#include "collector/store/values.h"

namespace lockstep {

// Not synced: what tells history that the receiver has taken the message is, and comes after it.
absl::StatusOr<size_t> ToldRecords::Put(const ToldAlert& told) {
  const std::string key = EncodeToldKey({told.incident, told.receiver});
  if (!told.empty()) return records_.Put(key, EncodeTold({told.channel, told.thread, told.wall_ns}));
  RETURN_IF_ERROR(records_.Remove({key}));
  return 0;
}

absl::StatusOr<std::vector<ToldAlert>> ToldRecords::Load(const std::vector<wire::Incident>& incidents) {
  std::set<uint64_t> ids;
  for (const wire::Incident& incident : incidents) ids.insert(incident.id());
  std::vector<ToldAlert> all;
  std::vector<std::string> leave;
  const auto take = [&](absl::string_view bytes, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(ToldKey key, DecodeToldKey(bytes));
    ASSIGN_OR_RETURN(ToldValue told, DecodeTold(value));
    if (ids.contains(key.incident)) {
      all.push_back(
          {key.incident, std::move(key.receiver), std::move(told.channel), std::move(told.thread), told.wall_ns});
    } else {
      leave.emplace_back(bytes);
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database_, Family::kMeta, kToldKeyPrefix, corrupt_, take));
  RETURN_IF_ERROR(records_.Remove(leave));
  return all;
}

}  // namespace lockstep
