#include "detector/hang/member_table.h"

#include <algorithm>

namespace lockstep {

MemberTable::MemberTable(const Trace& trace) {
  first_member_.assign(trace.communicators.size() + 1, 0);
  first_membership_.assign(trace.ranks.size() + 1, 0);
  for (size_t c = 0; c < trace.communicators.size(); ++c) {
    first_member_[c + 1] = first_member_[c] + trace.communicators[c].members.size();
    for (const int32_t rank : trace.communicators[c].members) {
      if (rank >= 0) ++first_membership_[static_cast<size_t>(rank) + 1];
    }
  }
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) first_membership_[rank + 1] += first_membership_[rank];
  memberships_.resize(first_membership_.back());
  std::vector<size_t> next(first_membership_.begin(), first_membership_.end() - 1);
  for (size_t c = 0; c < trace.communicators.size(); ++c) {
    const std::vector<int32_t>& members = trace.communicators[c].members;
    for (size_t m = 0; m < members.size(); ++m) {
      if (members[m] < 0) continue;
      memberships_[next[static_cast<size_t>(members[m])]++] = {static_cast<int32_t>(c), static_cast<int32_t>(m)};
    }
  }
}

int32_t MemberTable::MemberOf(size_t rank_index, int32_t communicator) const {
  const absl::Span<const Membership> places = Of(rank_index);
  const auto found =
      std::lower_bound(places.begin(), places.end(), communicator,
                       [](const Membership& place, int32_t wanted) { return place.communicator < wanted; });
  return found == places.end() || found->communicator != communicator ? -1 : found->member;
}

}  // namespace lockstep
