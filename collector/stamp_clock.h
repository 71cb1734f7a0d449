// The time line of a shard: what it stamps on reports and watermarks, and what detectors reckon by.
//
// Stamps rise strictly, within one life of the collector as fast as the monotonic clock does, and across restarts. A
// wall clock that jumps must neither age an incident nor stop one from ageing: stamps follow it slowly. Not
// thread-safe.

#ifndef LOCKSTEP_COLLECTOR_STAMP_CLOCK_H_
#define LOCKSTEP_COLLECTOR_STAMP_CLOCK_H_

#include <cstdint>

#include "base/clock.h"

namespace lockstep {

class StampClock {
 public:
  // Stamps follow the wall clock by at most this share of the time that passes: a minute of difference is gone within
  // an hour, and no duration is wrong by more than detectors notice.
  static constexpr int64_t kSlewShare = 50;

  // Begins at the wall clock, but behind `newest_ns`: the last stamp of an earlier life; 0 = none. Borrows `clock`.
  StampClock(const Clock& clock, int64_t newest_ns);

  int64_t Next();

 private:
  const Clock& clock_;
  int64_t monotonic_ns_;
  int64_t last_ns_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STAMP_CLOCK_H_
