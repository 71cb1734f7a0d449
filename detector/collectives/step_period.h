// Steps without hooks: a training step repeats the same calls, so that a step is the period of the call sequence.
//
// Pure function. Cost O(n x period) at worst; a wrong period is given up after a few mismatches.

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_STEP_PERIOD_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_STEP_PERIOD_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace lockstep {

struct StepPeriodOptions {
  int min_repetitions = 3;     // of the period within the sequence
  double max_mismatch = 0.05;  // share of calls that need not repeat (evaluation, checkpoint, a changed tail)
};

// The smallest p such that at least 1 - max_mismatch of the calls equal the call p before; 0 = there is none.
// `calls`: signatures (communicator, kind, bytes), oldest first.
size_t SmallestPeriod(absl::Span<const uint64_t> calls, const StepPeriodOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_STEP_PERIOD_H_
