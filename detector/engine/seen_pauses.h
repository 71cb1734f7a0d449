// Pauses of the whole job that looks saw. Those that cost little, planned or not, are nothing to be called for: they
// are told of the job, and planned ones explain why its step times vary. Pauses that come back and cost much are
// findings (standing_findings.h).
//
// What the newest looks that judged did not see is forgotten after kMostMisses of them: a window may lie between two
// pauses. Pure; not thread-safe. One pause at a time: a look tells of all that it saw in one.

#ifndef LOCKSTEP_DETECTOR_ENGINE_SEEN_PAUSES_H_
#define LOCKSTEP_DETECTOR_ENGINE_SEEN_PAUSES_H_

#include <optional>

#include "detector/engine/standing_findings.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

class SeenPauses {
 public:
  // As many looks as a finding may be missed by before it is over.
  static constexpr int kMostMisses = StandingFindings::kMostMisses;

  // What a look saw. `look`: of the same look.
  void Take(const LookResult& look, const JobReport& report);

  // The newest one, in steps of the job; nothing = none is known.
  const std::optional<Verdict>& newest() const { return newest_; }

  void Clear() { *this = SeenPauses(); }

 private:
  std::optional<Verdict> newest_;
  int misses_ = 0;  // in a row
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_SEEN_PAUSES_H_
