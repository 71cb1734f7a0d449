#include "detector/collectives/lateness.h"

#include <algorithm>
#include <vector>

namespace lockstep {

std::optional<Lateness> FindLateness(absl::Span<const Participation> members) {
  if (members.empty()) return std::nullopt;
  size_t last = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (!members[i].recorded || members[i].duration_ns < 0) return std::nullopt;
    if (members[i].duration_ns < members[last].duration_ns) last = i;
  }
  Lateness lateness{.last_member = static_cast<int32_t>(last), .transfer_ns = members[last].duration_ns};
  if (members.size() == 1) return lateness;
  std::vector<int64_t> waits;
  waits.reserve(members.size() - 1);
  for (size_t i = 0; i < members.size(); ++i) {
    if (i != last) waits.push_back(members[i].duration_ns - lateness.transfer_ns);
  }
  const auto middle = waits.begin() + static_cast<int64_t>(waits.size() / 2);
  std::nth_element(waits.begin(), middle, waits.end());
  lateness.median_wait_ns = *middle;
  return lateness;
}

}  // namespace lockstep
