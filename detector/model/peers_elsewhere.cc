#include "detector/model/peers_elsewhere.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lockstep {

std::vector<char> HavePeersElsewhere(const Trace& trace, const JobRoles& roles) {
  std::vector<char> have(trace.ranks.size(), 0);
  for (const std::vector<int32_t>& peers : roles.classes) {
    const auto host_of = [&trace](int32_t rank) { return trace.ranks[static_cast<size_t>(rank)].host; };
    const bool several =
        std::any_of(peers.begin(), peers.end(), [&](int32_t rank) { return host_of(rank) != host_of(peers.front()); });
    for (const int32_t rank : peers) have[static_cast<size_t>(rank)] = several ? 1 : 0;
  }
  return have;
}

}  // namespace lockstep
