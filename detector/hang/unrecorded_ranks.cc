#include "detector/hang/unrecorded_ranks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lockstep {
namespace {

// The number of one member; -1 = the known ones do not tell.
int32_t Interpolate(const Trace& trace, const std::vector<int32_t>& members, int32_t member) {
  if (trace.missing_ranks.size() == 1) return trace.missing_ranks[0];
  std::vector<std::pair<int32_t, int32_t>> known;  // communicator rank, rank
  for (size_t m = 0; m < members.size(); ++m) {
    if (members[m] >= 0) {
      known.push_back({static_cast<int32_t>(m), trace.ranks[static_cast<size_t>(members[m])].rank});
    }
  }
  if (known.size() < 2) return -1;
  const int32_t span = known.back().first - known.front().first;
  const int32_t stride = (known.back().second - known.front().second) / span;
  const bool regular = std::all_of(known.begin(), known.end(), [&](const auto& k) {
    return k.second - known.front().second == stride * (k.first - known.front().first);
  });
  return regular ? known.front().second + stride * (member - known.front().first) : -1;
}

}  // namespace

void AddUnrecorded(const Trace& trace, const BlockedOperation& blocked, std::vector<int32_t>* numbers) {
  const std::vector<int32_t>& members = trace.communicators[static_cast<size_t>(blocked.communicator)].members;
  for (const int32_t member : blocked.unrecorded) {
    const int32_t rank = members[static_cast<size_t>(member)];
    const int32_t number =
        rank >= 0 ? trace.ranks[static_cast<size_t>(rank)].rank : Interpolate(trace, members, member);
    if (number >= 0) numbers->push_back(number);
  }
  std::sort(numbers->begin(), numbers->end());
  numbers->erase(std::unique(numbers->begin(), numbers->end()), numbers->end());
}

}  // namespace lockstep
