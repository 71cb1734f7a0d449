// Ranks that have peers on other hosts, so that something can be said of their own.
//
// Where all ranks of one duty share a host, as a pipeline stage on one machine, nobody tells a slow host from a large
// duty. Pure. Cost O(ranks).

#ifndef LOCKSTEP_DETECTOR_MODEL_PEERS_ELSEWHERE_H_
#define LOCKSTEP_DETECTOR_MODEL_PEERS_ELSEWHERE_H_

#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"

namespace lockstep {

// By rank index: 1 = somebody of equal duty is on another host.
std::vector<char> HavePeersElsewhere(const Trace& trace, const JobRoles& roles);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_PEERS_ELSEWHERE_H_
