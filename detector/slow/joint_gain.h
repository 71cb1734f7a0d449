// What removing causes one after the other gives back: each by itself, and each with all before it.
//
// Gains do not add up. Of two ranks that are equally slow, removing one gives nothing back and removing both gives all;
// of two that delay different parts of a step, both give back what each does. So each beginning of the list is
// replayed. The same few usual steps serve for all, spread evenly over their lengths, so that gains can be compared; a
// step in which a cause is not there tells that it costs nothing there. Pure.
//
// Bounded: kMostJointSteps steps, and kMaxJointOperations operations over all replays; at least one step.

#ifndef LOCKSTEP_DETECTOR_SLOW_JOINT_GAIN_H_
#define LOCKSTEP_DETECTOR_SLOW_JOINT_GAIN_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "detector/slow/counterfactual_step.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Steps differ by a third in what a cause costs (replay_accounts.cc): so many tell the mean to 8 %.
inline constexpr size_t kMostJointSteps = 16;
// Budget of time: half a second at 40 ns.
inline constexpr size_t kMaxJointOperations = 12'000'000;

// Seconds per usual step.
struct JointGain {
  double alone_seconds = 0;
  double together_seconds = 0;  // never less than of the one before it
  size_t steps = 0;             // replayed, in which any of its ailments is there
};

// By removal, each of which takes away some of the ailments: numbers that rise. Empty where no step can be replayed.
std::vector<JointGain> GainsTogether(const TraceAnalysis& analysis, absl::Span<const Ailment> ailments,
                                     absl::Span<const std::vector<size_t>> removals,
                                     size_t most_steps = kMostJointSteps);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_JOINT_GAIN_H_
