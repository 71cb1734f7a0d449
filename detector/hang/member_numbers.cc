#include "detector/hang/member_numbers.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lockstep {

std::vector<int32_t> MemberNumbers(const Trace& trace, int32_t communicator) {
  const std::vector<int32_t>& members = trace.communicators[static_cast<size_t>(communicator)].members;
  std::vector<int32_t> numbers(members.size(), -1);
  std::vector<std::pair<int32_t, int32_t>> known;  // communicator rank, rank
  for (size_t m = 0; m < members.size(); ++m) {
    if (members[m] < 0) continue;
    numbers[m] = trace.ranks[static_cast<size_t>(members[m])].rank;
    known.push_back({static_cast<int32_t>(m), numbers[m]});
  }
  const int32_t span = known.empty() ? 0 : known.back().first - known.front().first;
  const int32_t stride = span == 0 ? 0 : (known.back().second - known.front().second) / span;
  const bool regular = span > 0 && std::all_of(known.begin(), known.end(), [&](const auto& k) {
                         return k.second - known.front().second == stride * (k.first - known.front().first);
                       });
  for (size_t m = 0; m < members.size(); ++m) {
    if (members[m] >= 0) continue;
    if (regular) numbers[m] = known.front().second + stride * (static_cast<int32_t>(m) - known.front().first);
    if (!regular && trace.missing_ranks.size() == 1) numbers[m] = trace.missing_ranks[0];
  }
  return numbers;
}

}  // namespace lockstep
