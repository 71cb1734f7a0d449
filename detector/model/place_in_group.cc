#include "detector/model/place_in_group.h"

#include <cstddef>

namespace lockstep {

std::vector<int32_t> PlacesIn(const Trace& trace, const JobRoles& roles, GroupRole role) {
  std::vector<int32_t> places(trace.ranks.size(), 0);
  std::vector<size_t> largest(trace.ranks.size(), 0);  // members of the group that the place is in
  for (size_t i = 0; i < trace.communicators.size(); ++i) {
    if (roles.communicators[i].role != role) continue;
    const std::vector<int32_t>& members = trace.communicators[i].members;
    for (size_t place = 0; place < members.size(); ++place) {
      if (members[place] < 0) continue;
      const auto rank = static_cast<size_t>(members[place]);
      if (members.size() <= largest[rank]) continue;
      largest[rank] = members.size();
      places[rank] = static_cast<int32_t>(place);
    }
  }
  return places;
}

}  // namespace lockstep
