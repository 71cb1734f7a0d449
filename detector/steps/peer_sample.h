// Some ranks of a class, from those that wait least to those that wait most, and places of their calls in steps.
//
// Which ranks are looked at does not depend on their numbers. Pure values; thread-compatible. Cost O(operations).

#ifndef LOCKSTEP_DETECTOR_STEPS_PEER_SAMPLE_H_
#define LOCKSTEP_DETECTOR_STEPS_PEER_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Of few, one that is slow decides.
inline constexpr size_t kSampledPeers = 8;
inline constexpr uint32_t kNoPlace = std::numeric_limits<uint32_t>::max();

// At most kSampledPeers, by rising time inside of operations. Of those whose begins are seen, if there are any: where
// there are none, no rank's ends are better than another's.
std::vector<size_t> SamplePeers(const Trace& trace, std::vector<int32_t> peers,
                                const std::vector<char>& without_begins);

// By operation of the rank, from its first: which of its kind (group family and operation) it is in its step; kNoPlace
// outside of complete steps, and of those that are not `wanted`.
std::vector<uint32_t> PlacesOfCalls(const Trace& trace, const JobRoles& roles, const StepTable& steps, size_t rank,
                                    absl::FunctionRef<bool(int32_t step)> wanted);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_PEER_SAMPLE_H_
