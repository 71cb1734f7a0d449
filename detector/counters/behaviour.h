// Units of equal duty, told by their levels where nobody says which they are: NICs that carry storage, stages of a
// pipeline that compute longer.
//
// Splits at gaps that are wide against the scatter next to them, and only into parts that are large enough to be a
// duty: a few deviating machines are suspects, not a group. Cost: O(n log n). Pure.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_BEHAVIOUR_H_
#define LOCKSTEP_DETECTOR_COUNTERS_BEHAVIOUR_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// Of three the odd one has two peers, and of two each (peer_detector.h: few machines).
inline constexpr int kFewestHostsOfDuty = 4;
// Share of the units: fewer going together are PeerOptions::most_at_once, which may be faults.
inline constexpr double kSmallestDuty = 0.15;
// Stages of a pipeline whose levels differ at all; more are a ramp and no duties.
inline constexpr int kMostDuties = 8;

// A number from 0 per unit, by rising level; all 0 when there is but one duty. `hosts` tells the host of each unit.
std::vector<int32_t> DutiesByLevel(absl::Span<const float> levels, absl::Span<const int32_t> hosts);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_BEHAVIOUR_H_
