// The frontier of a job by what its ranks report of themselves while it runs: counters, the oldest operation in flight
// of each communicator, the state of each process.
//
// All times are of the collector's clock: an operation was called `age_ns` before the report that tells of it arrived.
// "Stuck" means inside of one for the patience or longer. A rank is held not to have called what others called only
// if it was heard of late enough after them, and has itself done nothing for as long: one that has just been released
// is on its way. Finalized and disabled ranks, those in a communicator of unknown size, and members that never reported
// accuse nobody and are not accused. Of communicators only those with something in flight are kept.
// Cost O(ranks + members of communicators with something in flight). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_LIVE_FRONTIER_H_
#define LOCKSTEP_DETECTOR_HANG_LIVE_FRONTIER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/liveness.h"
#include "detector/model/roster.h"
#include "detector/model/trace.h"

namespace lockstep {

struct LiveFrontier {
  std::unique_ptr<Trace> trace;  // ranks, hosts and communicators, and what is in flight; rank index = rank slot
  Frontier frontier;             // of that trace
};

struct LiveFrontierOptions {
  int64_t now_ns = 0;
  int64_t patience_ns = 0;
  double longest_usual_step_seconds = 0;  // 0 = unknown
};

LiveFrontier ReadRoster(const Roster& roster, const std::vector<DeadProcess>& dead,
                        const std::vector<SilentHost>& silent, const LiveFrontierOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_LIVE_FRONTIER_H_
