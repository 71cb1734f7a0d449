// One step of the job replayed as recorded, and its counterfactuals: without any ailment, without one, without all
// others.
//
// An ailment is what is removed together: a cause among the ranks, slow transfers, or one of either that are the same.
// Where the counterfactual cannot tell what a healthy rank would need, it takes off what the rank needs more than
// before its onset, at most its excess over its peers. Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_COUNTERFACTUAL_STEP_H_
#define LOCKSTEP_DETECTOR_SLOW_COUNTERFACTUAL_STEP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "detector/slow/persistent_excess.h"
#include "detector/slow/slow_cause.h"
#include "detector/slow/step_replay.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/slow_transfers.h"

namespace lockstep {

struct Ailment {
  const SlowCause* cause = nullptr;
  const OwnProfile* profile = nullptr;  // of a cause that is there in some steps only
  std::vector<const SlowTransfers*> transfers;
  std::vector<int32_t> hosts;  // rising: that its transfers connect
  int32_t first_step = 0;
  int32_t last_step = 0;
  int32_t earliest_step = 0;  // where records are lost beside it, it may be there all the same
  int32_t latest_step = 0;
  double excess_seconds = 0;

  const Suspect* strongest() const { return cause == nullptr ? nullptr : &cause->suspects.front(); }
  bool MayBeIn(int32_t step) const {
    const bool there = cause != nullptr || transfers.front()->IsIn(step);
    return there && earliest_step <= step && step <= latest_step;
  }
  // Whether any of its ranks is known to be slow in the step.
  bool IsIn(int32_t step) const;
};

// What a healthy rank would need less.
double ExcessOf(const Suspect& suspect);

// The same of one step of a suspect that is slow in some steps: what it exceeds its peers by, at most what it exceeds
// its own other steps by, or the latter alone; 0 in a step in which it is not slow, or nothing is known of it.
double ExcessInStep(const Suspect& suspect, const OwnProfile& profile, int32_t step);

// Of the ailments that are there in this step, all but some. `left_out` rises.
Counterfactual CounterfactualOfAllBut(absl::Span<const Ailment> ailments, absl::Span<const size_t> left_out,
                                      int32_t step);

// Of the ailments that are there in this step, these. `numbers` rises.
Counterfactual CounterfactualOf(absl::Span<const Ailment> ailments, absl::Span<const size_t> numbers, int32_t step);

struct CounterfactualStep {
  struct Lengths {
    double alone = 0;   // with it alone removed, in seconds
    double others = 0;  // with all others removed
  };

  int32_t step = -1;
  size_t operations = 0;
  double recorded = 0;  // seconds; 0 = the records do not hang together
  double all_removed = 0;
  double hidden_share = 0;
  std::vector<StepReplay::Link> path;  // of the recorded step
  std::vector<Lengths> of_ailment;     // zeros until ReplayWithoutOne has been asked
};

// `replay` goes over to the step. Two runs, preparing it counted.
CounterfactualStep ReplayCounterfactuals(absl::Span<const Ailment> ailments, int32_t step, StepReplay* replay);

// In the step at which `replay` is. One run.
CounterfactualStep::Lengths ReplayWithoutOne(absl::Span<const Ailment> ailments, size_t number, StepReplay* replay);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_COUNTERFACTUAL_STEP_H_
