// Which steps took as long as steps of the job usually do.
//
// A pause, an evaluation or another program makes a step longer and is gone in the next one. A rank that has become
// slow makes all of them longer, and where it costs a quarter of the step or more, the first of those look like so many
// pauses for as long as the steps before are the majority. So a step is usual
//   - when it is no longer than the middle of all, but for what noise explains, or
//   - when it is one of kLevelSteps that follow each other and took about equally long: a level that the job kept, or
//   - when it is longer because ranks wait inside of the calls that every step makes. Then somebody is late, now and
//     then: in a pause all are outside, an evaluation has calls of its own. Such steps count where there are
//     kLevelSteps of them, and where they do not come back at equal intervals, as when one rank writes a checkpoint.
// Fewer of these are no usual steps, but what was lost in them counts (engine/time_ledger.h). Nor are the first few
// steps, less than a level, if each is longer than those that follow, or they fall towards these: a job warms up, and
// what its steps took then is no past that anything is compared with. Pure. Cost O(n log n).

#ifndef LOCKSTEP_DETECTOR_STEPS_USUAL_STEPS_H_
#define LOCKSTEP_DETECTOR_STEPS_USUAL_STEPS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// As many as a suspect needs (persistent_excess.h): what is too short to accuse anybody of needs no level.
inline constexpr size_t kLevelSteps = 4;

// By step: 1 = usual, 0 = longer, or unknown. `seconds` by step; 0 = unknown. The first two of the above.
std::vector<char> FindUsualSteps(absl::Span<const double> seconds);

// By step: 1 = longer because ranks wait, as the third, at no equal intervals; however few. `inside_seconds` by step:
// how long the middle rank was inside of operations; 0 = unknown, or other calls than usual.
std::vector<char> FindWaitedSteps(absl::Span<const double> seconds, absl::Span<const double> inside_seconds,
                                  absl::Span<const char> usual);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_USUAL_STEPS_H_
