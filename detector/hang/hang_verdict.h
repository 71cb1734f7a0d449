// From the causes of a hang to verdicts with evidence: of records, and of a job that is watched.
//
// One verdict per cause; a cause of several ranks lists exactly those, but in a watched job each rank has its own.
// Kernel events of a broken GPU and the state of processes say which class a missing rank belongs to; a host of several
// ranks that are all missing is named alone. A transfer whose members cannot be told apart lists all of them, each with
// its share of the confidence. Processes that died while others live, and hosts that fell silent, are named even if
// nobody waits for them. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_HANG_VERDICT_H_
#define LOCKSTEP_DETECTOR_HANG_HANG_VERDICT_H_

#include <vector>

#include "absl/types/span.h"
#include "detector/hang/frontier.h"
#include "detector/hang/hang_search.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// `search` must stem from `frontier`, and hold only what is to be told. Steps are not filled in; first_seen_ns is in a
// watched job.
std::vector<Verdict> HangVerdicts(const Frontier& frontier, const HangSearch& search,
                                  absl::Span<const HostEvent> events);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HANG_VERDICT_H_
