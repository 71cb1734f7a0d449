// That one unit went away from its peers in one metric, on how much evidence, and what it does instead.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_EXCURSION_H_
#define LOCKSTEP_DETECTOR_COUNTERS_EXCURSION_H_

#include <cstdint>

#include "detector/counters/work_stop.h"

namespace lockstep {

struct Excursion {
  int32_t unit = -1;
  bool up = false;
  bool net = true;        // false while it may be work that the unit only sampled at another moment than its peers
  double net_change = 0;  // of work: what the unit does more than its usual part of what its peers do, as a share of it
  double share = 0;       // of the evidence that an alarm needs; 1 = enough
  double surprisal = 0;   // of slow metrics, in nats: of the readings since the onset together (tail_record.h)
  double level = 0;       // of the unit, newest
  double median = 0;      // of its peers
  double excess = 0;      // recent mean distance to where the unit should be, in the metric's unit
  double sigmas = 0;      // the same over the noise
  double own_shift = 0;   // of its level against its own past, in deviations of that past
  int64_t onset_ms = 0;   // when the evidence last rose above that of noise
  WorkStop stop;          // of work, in a hang: that the unit stopped while its peers worked on
  double since_degradation = 0;  // of devices, in nats: of what it does since the job is slower (degradation_sums.h)
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_EXCURSION_H_
