#include "collector/store/stack_records.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/values.h"

namespace lockstep {

absl::StatusOr<size_t> StackRecords::Put(uint64_t incident, uint32_t place, const wire::StackDump& dump) {
  return records_.Put(EncodeStackKey(incident, place), EncodeStackDump(dump));
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
