// How much of its window each group of functions takes on each worker, in the order of duties (duty_order.h).
//
// A beta is a share of the window, 0 to 1. That of a group is the sum over its functions: above 1, where they run at
// once. Cost O(functions x workers) to add up, and O(groups x workers of the duty) for sums over groups. Pure values.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_GROUP_BETAS_H_
#define LOCKSTEP_DETECTOR_PATTERNS_GROUP_BETAS_H_

#include <array>
#include <cstddef>
#include <vector>

#include "detector/patterns/duty_order.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/pattern_fleet.h"

namespace lockstep {

// Of each group, by place.
using GroupBetas = std::array<std::vector<float>, kFunctionGroups>;
GroupBetas SumGroups(const PatternFleet& fleet, const DutyOrder& order);

// Of groups from `first` to `last` together, by place in the duty.
std::vector<float> BetasOf(const GroupBetas& groups, FunctionGroup first, FunctionGroup last, const DutyOrder& order,
                           size_t duty);

// Of all that a GPU computes: neither copies nor communication.
std::vector<float> KernelBetas(const GroupBetas& groups, const DutyOrder& order, size_t duty);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_GROUP_BETAS_H_
