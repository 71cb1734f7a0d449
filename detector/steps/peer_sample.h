// Peers from those that wait least to those that wait most, some of them, and places of their calls in steps.
//
// Who is looked at, where not all are, does not depend on numbers of ranks: launchers deal them out as they like. Pure
// values; thread-compatible. Cost O(operations).

#ifndef LOCKSTEP_DETECTOR_STEPS_PEER_SAMPLE_H_
#define LOCKSTEP_DETECTOR_STEPS_PEER_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/executor.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Of few, one that is slow decides.
inline constexpr size_t kSampledPeers = 8;
inline constexpr uint32_t kNoPlace = std::numeric_limits<uint32_t>::max();

// By class: its ranks, by rising time inside of operations.
using PeersByWaiting = std::vector<std::vector<int32_t>>;

PeersByWaiting OrderByWaiting(const Trace& trace, const JobRoles& roles, Executor* executor = nullptr);

// At most kSampledPeers of a class, in its order. Of those whose begins are seen, if there are any: where there are
// none, no rank's ends are better than another's.
std::vector<size_t> SamplePeers(const std::vector<int32_t>& by_waiting, const std::vector<char>& without_begins);

// By operation of the rank, from its first: which of its kind (group family and operation) it is in its step; kNoPlace
// outside of complete steps, and of those that are not `wanted`.
std::vector<uint32_t> PlacesOfCalls(const Trace& trace, const JobRoles& roles, const StepTable& steps, size_t rank,
                                    absl::FunctionRef<bool(int32_t step)> wanted);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_PEER_SAMPLE_H_
