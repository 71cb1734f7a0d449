// How many calls of an anchor make one step.
//
// An anchor that cuts a history into stretches with all kinds of calls (step_anchor.h) may come several times per step:
// where each layer's gradients are reduced by a call of the same size, the forward pass, which reduces none, lies in
// one of the stretches, and the others hold a layer of the backward pass each. The forward pass is a quarter of a
// step's calls at least, and it comes with every step: so one stretch in so many is much longer than the others, always
// after equally many. Evaluations are rarer or shorter than that, and no stretch that is longer now and then is a step.
// Where ranks call hardly anything else (gradients of replicas whose sizes are not recorded), stretches are measured in
// time instead: the same holds for the time between the launches, and where hosts run ahead, between the begins.
// Pure. Cost O(stretches log stretches).

#ifndef LOCKSTEP_DETECTOR_STEPS_ANCHOR_PERIOD_H_
#define LOCKSTEP_DETECTOR_STEPS_ANCHOR_PERIOD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// `lengths`: of each stretch between two anchors that follow each other, oldest first: its calls, with the later
// anchor, or its time in any unit. 1 = a step has one anchor, as far as these tell.
uint32_t AnchorsPerStep(absl::Span<const int64_t> lengths);

// By stretch: 1 = much longer than usual, as the one that a step begins with. Of those before the first usual one, the
// last: a job that warms up.
std::vector<char> LongStretches(absl::Span<const int64_t> lengths);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_ANCHOR_PERIOD_H_
