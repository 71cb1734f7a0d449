// The frontier of a job by what its ranks report of themselves while it runs: counters, the operations in flight of
// each communicator (all, or the oldest alone), the state of each process.
//
// All times are of the collector's clock. Hosts call operations seconds before their GPUs come to them, so that an
// operation counts from when it began; where that is not told, from when it came to be the oldest: TraceOperation's
// enqueue_ns is that moment. "Stuck" means inside of one for its communicator's patience or longer. A rank of which
// something is known to have begun waits in nothing that has not. A rank is held not to have called what others called
// only if it was heard of late enough after them, and has itself done nothing for as long: one that has just been
// released is on its way. Finalized and disabled ranks, those in a communicator of unknown size, and members that never
// reported accuse nobody and are not accused. Of communicators only those with something in flight are kept. Cost
// O(ranks + members of communicators with something in flight). Pure.

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
  std::vector<int64_t> patience_of_ns;    // by communicator slot; empty = patience_ns everywhere
  double longest_usual_step_seconds = 0;  // 0 = unknown
};

// Whether the operation tells that the recorder sees GPUs begin: then what else is in flight and has not, is queued.
// Of proxies that is not sure, since operations inside a host need none.
bool ShowsBegin(const InFlightOperation& operation);

LiveFrontier ReadRoster(const Roster& roster, const std::vector<DeadProcess>& dead,
                        const std::vector<SilentHost>& silent, const LiveFrontierOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_LIVE_FRONTIER_H_
