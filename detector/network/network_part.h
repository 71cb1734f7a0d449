// The part of a network that lies behind something slow, such as a leaf switch.
//
// Fine paths connect hosts to islands. Where the largest island holds at least half of the hosts and slow paths lead
// from island to island, the cause is at the border of as few hosts as explain all of these paths: islands are taken by
// the slow paths that end at them, per host, those first that explain most of what is left (the greedy cover of sets).
// Of islands that explain as much, all are taken. Two islands of one size say nothing about the side: both are meant.
//
// Pure. Cost O(islands x slow paths + total members of the paths).

#ifndef LOCKSTEP_DETECTOR_NETWORK_NETWORK_PART_H_
#define LOCKSTEP_DETECTOR_NETWORK_NETWORK_PART_H_

#include <cstdint>
#include <vector>

#include "detector/network/vote_path.h"

namespace lockstep {

struct NetworkPart {
  std::vector<int32_t> hosts;       // rising; empty = there is none. Never a single one: an adapter tells as much
  std::vector<int32_t> slow_paths;  // rising indices: those that lead from island to island
};

// `slow` and `fine` are indices into `paths`; `host_of` by rank index.
NetworkPart FindNetworkPart(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of,
                            const std::vector<int32_t>& slow, const std::vector<int32_t>& fine);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_NETWORK_PART_H_
