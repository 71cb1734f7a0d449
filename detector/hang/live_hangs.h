// Who keeps a running job from going on, if it does not: the one call of the live engine into the search for hangs.
//
// How it works. Each evaluation first looks over the ranks for a reason to worry: a rank inside an operation for the
// patience or longer, a dead process, a host without reports. Without one, that is all. With one, what ranks report is
// read into a Frontier (live_frontier.h), and the same search, causes and words are applied as to the records of a file
// (hang_search.h, hang_verdict.h), on other evidence: of what has finished only counters, but of what is in flight
// since when, so that only long waits count and no precedents are needed.
//
// What is sure:
//   - A rank "has not entered" only by its own report, sent long enough after the waiting one entered. Finalized and
//     disabled ranks, and those in communicators of unknown size, are never accused.
//   - Each rank that others wait for and that waits for nobody has a verdict of its own; so has each dead process that
//     others outlived, and each host silent for `host_silent_ns` while other hosts report and nothing moves that
//     its ranks take part in.
//   - Until every member of the largest communicator has been through a few operations, nobody is stuck, and only the
//     dead are named.
// The patience is the larger of `hang_floor_ns` and `hang_step_multiple` x the longest usual step; less in
// communicators that never kept anybody for long; for unknown steps see hang_timeout.h.
//
// Pure: the roster, and what it is given. Cost O(ranks + memberships) without allocations while nothing is wrong, else
// that of the search. Verdicts carry steps, onset, evidence and the kernel's complaints about the hosts they name.

#ifndef LOCKSTEP_DETECTOR_HANG_LIVE_HANGS_H_
#define LOCKSTEP_DETECTOR_HANG_LIVE_HANGS_H_

#include <cstdint>
#include <vector>

#include "detector/hardware/evidence_log.h"
#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct LiveHangContext {
  int64_t watermark_ns = 0;
  double longest_usual_step_seconds = 0;  // 0 = unknown
  int64_t step = -1;                      // newest completed; goes into verdicts
  int64_t hang_floor_ns = 4'000'000'000;
  double hang_step_multiple = 5;
  int64_t host_silent_ns = 15'000'000'000;
  const EvidenceLog* log = nullptr;  // of the kernels of the hosts; may be absent
};

struct LiveHangs {
  std::vector<Verdict> verdicts;  // one per cause
  int32_t stuck_ranks = 0;        // inside an operation for longer than the patience
  int64_t longest_wait_ns = 0;    // of those
  bool all_outside = false;       // every living rank has been outside of any operation for longer than the patience
  int64_t shortest_idle_ns = 0;   // of those
};

LiveHangs JudgeLiveHangs(const Roster& roster, const LiveHangContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_LIVE_HANGS_H_
