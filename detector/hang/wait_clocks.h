// How long ranks have waited, as far as clocks tell, and what is long.
//
// A host's clock stands at the latest time that any record of the host holds, or at the moment when its recorder was
// last looked at; it is compared with nothing but times of the same host. Cost O(operations). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_WAIT_CLOCKS_H_
#define LOCKSTEP_DETECTOR_HANG_WAIT_CLOCKS_H_

#include <cstdint>
#include <vector>

#include "detector/hang/frontier.h"

namespace lockstep {

struct WaitClocks {
  std::vector<int64_t> waited_ns;  // by rank index: since it came to rest in what is open; 0 = nothing is
  std::vector<int64_t> quiet_ns;   // by rank index: from its last record to when it was looked at; 0 = it never was
  int64_t long_ns = 0;             // from here on a wait is like none before
  bool looked_at = false;  // some rank's records say when it was last looked at: a hang must show as a long wait
};

WaitClocks MeasureWaits(const Frontier& frontier);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_WAIT_CLOCKS_H_
