// How long the ranks of a trace have waited at its end, as far as clocks tell.
//
// A host's clock stands at the latest time that any record of the host holds, or at the moment when its recorder was
// last looked at; it is compared with nothing but times of the same host. Cost O(operations). Pure.

#ifndef LOCKSTEP_DETECTOR_PROGRESS_WAIT_CLOCKS_H_
#define LOCKSTEP_DETECTOR_PROGRESS_WAIT_CLOCKS_H_

#include <cstdint>
#include <vector>

#include "detector/progress/trace_frontier.h"

namespace lockstep {

struct WaitClocks {
  std::vector<int64_t> waited_ns;  // by rank index: since it came to its first open operation; 0 = none, or not known
  // The middle rank's longest time inside one operation, without the first fifth of its records, in which everybody
  // compiles and connects. 0 = nothing has finished.
  int64_t longest_usual_ns = 0;
  bool looked_at = false;  // some rank's records say when it was last looked at
};

WaitClocks MeasureWaits(const TraceFrontier& frontier);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PROGRESS_WAIT_CLOCKS_H_
