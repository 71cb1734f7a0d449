// From the causes of a hang in a trace to verdicts with evidence.
//
// One verdict per cause; a cause of several ranks lists exactly those. Kernel events of a broken GPU and the state of
// processes say which class a missing rank belongs to; a host of several ranks that are all missing is named alone.
// A transfer whose members cannot be told apart lists all of them, each with its share of the confidence. Pure.

#ifndef LOCKSTEP_DETECTOR_PROGRESS_TRACE_HANG_VERDICT_H_
#define LOCKSTEP_DETECTOR_PROGRESS_TRACE_HANG_VERDICT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "detector/job_evidence.h"
#include "detector/progress/trace_frontier.h"
#include "detector/progress/trace_hang.h"
#include "detector/verdict.h"

namespace lockstep {

// `search` must say kHung and stem from a frontier of `trace`. Steps are not filled in.
std::vector<Verdict> TraceHangVerdicts(const Trace& trace, const TraceHangSearch& search,
                                       absl::Span<const HostEvent> events);

struct TraceHangFindings {
  std::vector<Verdict> verdicts;  // empty unless the trace ends in a hang
  std::string open_question;      // who may or may not hang; empty = the records tell
};

// The whole way from the frontier of a trace. `stalls_pass`: see SearchTraceHangs.
TraceHangFindings FindTraceHangs(const TraceFrontier& frontier, absl::Span<const HostEvent> events, bool stalls_pass);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PROGRESS_TRACE_HANG_VERDICT_H_
