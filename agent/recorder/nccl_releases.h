// What is known of NCCL releases: the profiler interface that each uses, and what is better not asked of it.
//
// A fork may carry the newest interface under an old version, or another layout under the same name. Reading events
// by the wrong layout would crash the job, so that a version and an interface that do not belong together are refused;
// LOCKSTEP_FORCE_ABI tells that somebody knows better. Pure.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_RELEASES_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_RELEASES_H_

#include <cstdint>

#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

struct ReleaseJudgement {
  DisabledReason disabled = DisabledReason::kNone;
  uint64_t denied_events = 0;  // bits that must not be set in the mask
  const char* why = "";        // for people; static
};

// The interface that NCCL `version` (ncclGetVersion; 22809 = 2.28.9) prefers; 0 = it has none.
int NativeAbi(uint32_t version);

// `version` 0 = not known, which is normal where NCCL is linked statically: the interface is believed then.
// `is_forced` = the user has vouched for the interface: everything is allowed.
ReleaseJudgement JudgeRelease(uint32_t version, int abi, bool is_forced);

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_RELEASES_H_
