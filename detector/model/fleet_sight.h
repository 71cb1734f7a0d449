// How the fleet beside a job does, as the collector sees it: what tells a machine that is gone from a collector that
// hears nobody. Part of what is logged, so that a replay concludes the same.
//
// Plain value; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_MODEL_FLEET_SIGHT_H_
#define LOCKSTEP_DETECTOR_MODEL_FLEET_SIGHT_H_

#include <cstdint>

#include "base/clock.h"

namespace lockstep {

// A host reports as long as its newest report is no older: five reports at the usual one per second.
inline constexpr int64_t kHeardWithinNs = 5 * kNanosPerSecond;

struct FleetSight {
  int32_t reporting = 0;  // hosts; 0 = nobody looked, or a host of the job reports of something else
  int32_t silent = 0;     // hosts that reported not long ago and do not now, those of the job among them

  // Where more fell silent than go on, the network or the collector is more likely at fault than machines.
  bool goes_on() const { return reporting > 0 && reporting >= silent; }
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_FLEET_SIGHT_H_
