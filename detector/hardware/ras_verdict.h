// Who is to blame for a job that stands still, from what NCCL's RAS service says alone.
//
// For jobs without a recorder, and for those whose records stop before the cause. Confidence is low, because launches
// are all that RAS counts, and because it does not tell what a rank waits for elsewhere. Named is only who is gone or
// behind in two answers in a row, and only in a job that is known to stand still: its records say so, NCCL holds a
// member to be dead, or the same members have been behind by the same counts for as long as a hang of unknown steps
// takes. Otherwise the reason is told why nobody is. Pure.

#ifndef LOCKSTEP_DETECTOR_HARDWARE_RAS_VERDICT_H_
#define LOCKSTEP_DETECTOR_HARDWARE_RAS_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/hardware/ras_memory.h"
#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct RasJudgement {
  std::vector<Verdict> verdicts;
  std::string why_none;  // a sentence; empty when there are verdicts, or when RAS claims nothing
};

// `stands_still`: the records of operations say that the job does. A roster without communicators is a job without
// records; claims about communicators that it does not know are then taken for claims about this job.
RasJudgement JudgeByRas(const Roster& roster, const RasMemory& memory, int64_t watermark_ns, bool stands_still);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HARDWARE_RAS_VERDICT_H_
