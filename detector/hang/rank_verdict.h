// The verdict on ranks that others wait for: what they do, what their processes and GPUs say of it, and who waits.
//
// Of the events of a host those count that mean a broken GPU, but not those of another process. Confidence is less
// where something else looks the same. That others are out and these are not may also be the last packet to them; who
// stopped calling may have been stopped. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_RANK_VERDICT_H_
#define LOCKSTEP_DETECTOR_HANG_RANK_VERDICT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/model/job_evidence.h"
#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// Of these events, at most as many as a verdict quotes. They point into `events`.
std::vector<const HostEvent*> BrokenGpuEvents(const Trace& trace, absl::Span<const HostEvent> events,
                                              int32_t rank_index);

// Of ranks that are alive and whose GPUs nothing is known of.
VerdictClass ClassOf(const Hang& hang);

// `ranks`: rank indices, some of the hang's, at least one.
Verdict OfRanks(const Frontier& frontier, absl::Span<const HostEvent> events, const Hang& hang,
                const std::vector<int32_t>& ranks, VerdictClass verdict_class);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_RANK_VERDICT_H_
