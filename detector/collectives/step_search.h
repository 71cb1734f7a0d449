// Whose own work a typical step waits for: replay, walk back, heal, repeat.
//
// Replay: a rank arrives at an operation when it has left the one before and done its own work; an operation ends when
// its last member has arrived and the transfer is done. Walk (the join form of Holmes' search): from the last operation
// to its last arriver; if that rank's own interval is ordinary among its peers, on to the operation it was held up in,
// and to the last arriver there. Heal: the rank with the largest excess on that path gets its peers' median, and the
// step is replayed; what it got faster is the rank's cost. Repeat until the path is ordinary: several culprits come
// out one by one, victims never do. A path that ends in a transfer accuses nobody. Pure; cost O(links x culprits^2).

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_STEP_SEARCH_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_STEP_SEARCH_H_

#include <cstdint>
#include <vector>

#include "detector/collectives/typical_step.h"

namespace lockstep {

struct StepSearchOptions {
  double min_own_time_ratio = 1.10;
  double min_step_cost = 0.03;
  int max_culprits = 16;
};

struct StepCulprit {
  int32_t participant = -1;
  double saved_alone_seconds = 0;  // step time saved by healing only this one
  double saved_last_seconds = 0;   // step time saved by healing this one when the others are healed already
  // Where its delay enters the job: the operation after its largest excess.
  int32_t segment = 0;
  int32_t node = 0;
};

struct StepSearch {
  double step_seconds = 0;            // replayed
  double healed_seconds = 0;          // with all culprits healed
  std::vector<StepCulprit> culprits;  // in the order in which the walk found them
};

StepSearch SearchStep(const TypicalStep& step, const StepSearchOptions& options);

// Replayed step time when the participants in `healed` (by participant: 1 = healed) do their peers' median of own work.
double ReplaySeconds(const TypicalStep& step, const std::vector<char>& healed);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_STEP_SEARCH_H_
