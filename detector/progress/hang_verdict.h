// From stuck operations, dead processes and silent hosts to verdicts with evidence. Pure.

#ifndef LOCKSTEP_DETECTOR_PROGRESS_HANG_VERDICT_H_
#define LOCKSTEP_DETECTOR_PROGRESS_HANG_VERDICT_H_

#include <vector>

#include "detector/evidence_log.h"
#include "detector/progress/hang_search.h"
#include "detector/progress/liveness.h"
#include "detector/roster.h"
#include "detector/verdict.h"

namespace lockstep {

struct HangContext {
  const Roster* roster;
  const EvidenceLog* log;
  int64_t watermark_ns = 0;
  double longest_usual_step_seconds = 0;  // 0 = unknown
  int64_t step = -1;                      // newest completed
};

// One verdict per cause: a rank that is dead, or on a silent host, is not accused a second time of not entering.
std::vector<Verdict> BuildHangVerdicts(const HangContext& context, const std::vector<Hang>& hangs,
                                       const std::vector<DeadProcess>& dead, const std::vector<SilentHost>& silent);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PROGRESS_HANG_VERDICT_H_
