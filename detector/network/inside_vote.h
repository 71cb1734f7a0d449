// Slow paths that a network has no part in: between GPUs of one host.
//
// Such a path is the host's NVLink if hardly any other path of one of its GPUs is quick there, and this is so on few of
// the hosts. Groups that leave the host pass it too, between the GPUs that they have there. One slow group beside quick
// ones of the same GPUs is nobody's fault: what it passes alone, or how it was set up, and nothing tells which.
//
// Pure. Cost O(total members of the paths x slow hosts).

#ifndef LOCKSTEP_DETECTOR_NETWORK_INSIDE_VOTE_H_
#define LOCKSTEP_DETECTOR_NETWORK_INSIDE_VOTE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "detector/network/path_cause.h"
#include "detector/network/vote_path.h"

namespace lockstep {

// Of hosts with slow NVLink, rising by host. `host_of`: by rank. `explained`: by path, 1 = by these, from now on.
std::vector<PathCause> VoteOnInside(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of,
                                    std::vector<char>* explained);

// All slow groups that never leave their host and that nothing explains, as one; not exchanges, whom the routing
// favours.
std::optional<PathCause> WithinHosts(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of,
                                     const std::vector<char>& explained);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_INSIDE_VOTE_H_
