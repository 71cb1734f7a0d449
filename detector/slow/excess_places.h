// Where inside of a step a rank works longer than its peers: beside a slow GPU in all intervals alike, while it waits
// for input or stalls in one of them. What a counterfactual takes off, it takes off there.
//
// Pure. Cost O(intervals x peers).

#ifndef LOCKSTEP_DETECTOR_SLOW_EXCESS_PLACES_H_
#define LOCKSTEP_DETECTOR_SLOW_EXCESS_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace lockstep {

// More peers tell little more of the middle.
inline constexpr size_t kMostPlacePeers = 8;

// Own times of a few peers of the rank with as many intervals as it has, spread evenly over `peers`, an order that
// does not depend on numbers (peer_sample.h). `left_out`: by rank, 1 = it is slow itself, and tells nothing. Cost O(1)
// where most tell.
std::vector<absl::Span<const float>> OwnTimesOfPeers(size_t rank, const std::vector<int32_t>& peers,
                                                     const std::vector<char>& left_out,
                                                     absl::FunctionRef<absl::Span<const float>(size_t rank)> own_of);

// Takes `less` seconds off `own`, the own times of a rank's step in their order: where they exceed the middle of what
// the peers' same intervals take, in proportion to that; what is more, off all alike. Peers have as many intervals.
// Without peers all of it is taken off alike. At most all is taken.
void TakeOffExcess(double less, const std::vector<absl::Span<const float>>& peers, absl::Span<float> own);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_EXCESS_PLACES_H_
