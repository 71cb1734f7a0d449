// How a job ends: what its deaths make of the hangs that are found, and what holds once nobody is left.
//
// A job ends in order, is stopped from outside, or dies; or nobody knows. When it dies, or may have died, what held of
// it until then holds on, since nobody has seen it go: a hang that was found before the first death is the cause, and
// the deaths are what it came to; else the first death is, where one is known. Deterministic; not thread-safe. Memory:
// the verdicts of one evaluation.

#ifndef LOCKSTEP_DETECTOR_ENGINE_JOB_END_H_
#define LOCKSTEP_DETECTOR_ENGINE_JOB_END_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/hang/first_death.h"
#include "detector/hardware/evidence_log.h"
#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

class JobEnd {
 public:
  // What holds of a job that is over.
  struct Over {
    JobState state = JobState::kEnded;  // kEnded, kStopped, kFailed or kGone
    std::string note;
    std::vector<Verdict> verdicts;  // of one that failed, the death or the hang first; of one that is gone, the hang
    bool is_new = false;            // made by this call
  };

  // Of the hangs that were found at this moment, those that hold, with what is known of deaths.
  std::vector<Verdict> Settle(const Roster& roster, const EvidenceLog& log, std::vector<Verdict> hangs,
                              int64_t watermark_ns);

  // All that holds of the job while it lives.
  void Keep(const std::vector<Verdict>& verdicts) { kept_ = verdicts; }

  // REQUIRES: all ranks are over. Made once, and again when more is heard of how they ended; the caller may complete
  // the verdicts of one that is new.
  Over& Of(const Roster& roster, const EvidenceLog& log, int64_t watermark_ns);

  // Begins to watch another incarnation of the job.
  void Clear() { *this = {}; }

 private:
  // Hangs found before anybody was known to be dead, and since when without interruption.
  std::vector<Verdict> held_;
  int64_t held_since_ns_ = 0;
  std::vector<Verdict> kept_;
  Over over_;
  bool is_over_ = false;
  uint64_t heard_ = 0;  // lines of kernels and ends that are known, when over_ was made
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_JOB_END_H_
