// Who hangs at the end of a job's records, if that end is a hang.
//
// Where waits alone do not tell a hang, the kernel's word about who is waited for does; in one, GPUs that the kernel
// calls broken and that finished nothing since are named even if nobody waits for them yet. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_TRACE_HANGS_H_
#define LOCKSTEP_DETECTOR_HANG_TRACE_HANGS_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "detector/hang/frontier.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/abstention.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct HangFindings {
  std::vector<Verdict> verdicts;          // empty unless the trace ends in a hang
  std::optional<OpenWait> open_question;  // who may or may not hang; none = the records tell
};

// `stalls_pass`: see SearchHangs.
HangFindings FindHangs(const Frontier& frontier, absl::Span<const HostEvent> events, bool stalls_pass);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_TRACE_HANGS_H_
