#include "collector/store/stack_records.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "collector/store/families.h"
#include "collector/store/record_scan.h"
#include "collector/store/values.h"

namespace lockstep {

absl::StatusOr<size_t> StackRecords::Put(uint64_t incident, uint32_t place, const wire::StackDump& dump) {
  return records_.Put(EncodeStackKey(incident, place), EncodeStackDump(dump));
}

absl::StatusOr<std::vector<wire::StackDump>> StackRecords::Load(uint64_t incident) {
  std::vector<wire::StackDump> dumps;
  const auto take = [&](absl::string_view /*key*/, absl::string_view value) -> absl::Status {
    ASSIGN_OR_RETURN(wire::StackDump dump, DecodeStackDump(value));
    dumps.push_back(std::move(dump));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ScanRecords(database_, Family::kMeta, StackKeyPrefix(incident), corrupt_, take));
  return dumps;
}

}  // namespace lockstep
