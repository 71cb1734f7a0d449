// The places in a network that are slow, since when, and in which steps: what slow paths (slow_paths.h) share.
//
// Paths that are slow for good vote first (path_vote.h), and what they have in common counts if it is one place. The
// others vote again together with those that are slow at times: at least two of these must agree, but for an NVLink,
// which nobody shares. A place is slow in the steps in which most of its paths are. Where a vote comes to many places,
// or to none for some paths, those that are far slower than most slow ones vote by themselves before: what one adapter
// holds up makes others share what is left. Pure. Cost that of a few votes.

#ifndef LOCKSTEP_DETECTOR_NETWORK_SLOW_PLACES_H_
#define LOCKSTEP_DETECTOR_NETWORK_SLOW_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/network/path_cause.h"
#include "detector/network/slow_paths.h"
#include "detector/network/transfer_table.h"

namespace lockstep {

struct SlowPlace {
  PathCause cause;
  size_t first_step = 0;
  std::vector<char> in_step;     // by step: 1 = slow in it; empty = in all from first_step on
  bool may_be_built_so = false;  // a part of the network, or one of many links, that was never quicker
};

// `slow`: by path of the table. `host_of`: by rank.
std::vector<SlowPlace> FindSlowPlaces(const TransferTable& table, const std::vector<SlowPath>& slow,
                                      const std::vector<int32_t>& host_of);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_SLOW_PLACES_H_
