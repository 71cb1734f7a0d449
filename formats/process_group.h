// PyTorch's process groups as communicators: one identity on all members.
//
// The name of a group alone is no identity: ranks number the groups that they make themselves, so that two groups may
// be called "1" at once. Name and members together are. Pure.

#ifndef LOCKSTEP_FORMATS_PROCESS_GROUP_H_
#define LOCKSTEP_FORMATS_PROCESS_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lockstep {

inline constexpr size_t kMaxGroupRanks = size_t{1} << 20;

// "[0, 1, 2]" as Kineto and the Flight Recorder write it. Empty when it is cut short ("[0, 1, ...]") or no such list.
std::vector<int32_t> ParseRankList(absl::string_view text);

// start, start + stride, ...; empty unless the numbers make sense.
std::vector<int32_t> StridedRanks(int64_t start, int64_t stride, int64_t size);

// Where `rank` stands among the members of a group: its rank there. -1 = it is none of them.
int32_t PositionIn(absl::Span<const int32_t> ranks, int32_t rank);

// "39[0,8]", and for more than a few members "0[0,1..15;16;1f83d9ab]" with their number and a hash of all.
std::string CommunicatorName(absl::string_view group, absl::Span<const int32_t> ranks);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_PROCESS_GROUP_H_
