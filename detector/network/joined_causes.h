// Causes that are one: of one kind on the same hosts, or more of one kind at once than fail side by side.
//
// Pure. Cost O(causes x their paths).

#ifndef LOCKSTEP_DETECTOR_NETWORK_JOINED_CAUSES_H_
#define LOCKSTEP_DETECTOR_NETWORK_JOINED_CAUSES_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/network/path_cause.h"

namespace lockstep {

// Moves all paths and ranks of `from` into `into`.
void Join(PathCause* into, const PathCause& from);

// Of one kind, on the same hosts: one fault.
void JoinEqualOnes(std::vector<PathCause>* causes);

// Of one kind, on more hosts than fail side by side: what they have in common, a switch, is at fault. Those that
// explain less than half as much as the main one are its echoes.
void JoinManyOfOneKind(std::vector<PathCause>* causes);

// The same of links, if each has one end of which nearly all paths are slow (`is_slow`): what these have in common.
void JoinManyLinks(absl::FunctionRef<bool(int32_t host)> is_slow, std::vector<PathCause>* causes);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_JOINED_CAUSES_H_
