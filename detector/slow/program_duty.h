// Stalls that go with a rank's place in the job: what the program gives it to do, and no machine is to blame for.
//
// Programs give work to ranks by their number. The first, in many programs the last, logs and keeps metadata; one rank
// of each tensor group reads for the others. Such a rank stops where its peers do not, and it has since the job began.
// A machine that becomes slow may be any one, at any time. So a cause is a duty that
//   - one rank has by itself, outside of the work of its GPU: it waits at one place of the step, or launches late,
//   - has been there since the records began, as far as its steps can tell (kAwayByChance), and
//   - is the first or the last rank's, or that of most ranks of its place in the replicas, on several hosts.
// A fault that really is the first rank's, and is as old as the records, is then software's: one host in many, against
// a habit of most programs. The test is ours. Pure. Cost O(causes x (causes + steps)).

#ifndef LOCKSTEP_DETECTOR_SLOW_PROGRAM_DUTY_H_
#define LOCKSTEP_DETECTOR_SLOW_PROGRAM_DUTY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/trace.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/step_profile.h"
#include "detector/steps/trace_analysis.h"
#include "detector/verdict/slow_reasons.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// Of a rank that is the first of the job, or the last; none = it is neither. By index.
std::optional<DutyOfPlace> DutyOfEnds(const Trace& trace, int32_t rank);

// The machine does what it is told to.
void BlameProgram(const DutyOfPlace& duty, Verdict* verdict);

// Of cause number `which`; none = it is no duty. `places` by rank index.
std::optional<DutyOfPlace> FindProgramDuty(const TraceAnalysis& analysis, absl::Span<const PlaceInJob> places,
                                           const std::vector<SlowCause>& causes, size_t which);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_PROGRAM_DUTY_H_
