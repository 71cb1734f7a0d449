// When collectives ended, from what watchdogs noticed of them at their looks.
//
// A watchdog looks about each 100 ms, so that an end lies between two looks. But all members leave a collective at one
// moment, and their watchdogs look at different ones: what one of them has seen over is over on all. Clocks of hosts
// are not comparable, yet their difference is bounded by every collective that two ranks share, and with many of them
// to about a millisecond: looks drift against each other by what they take. Bounds of ends and of differences narrow
// each other, and calls of a communicator follow each other on each rank.
//
// Pure. Cost O(calls) per round, of which there are kNarrowingRounds. A clock that drifts by more than the looks are
// apart in the time of the records makes bounds contradict each other: the middle between them is taken.

#ifndef LOCKSTEP_FORMATS_WATCHDOG_TIMES_H_
#define LOCKSTEP_FORMATS_WATCHDOG_TIMES_H_

#include <cstdint>
#include <vector>

namespace lockstep {

inline constexpr int kNarrowingRounds = 6;

struct WatchedCall {
  int32_t rank = -1;
  int32_t communicator = -1;
  uint64_t sequence = 0;
  int64_t duration_ns = 0;
  // Clock of the rank.
  int64_t earliest_end_ns = 0;
  int64_t latest_end_ns = 0;
};

// Narrows the bounds. Calls of one rank and communicator are in their order.
void NarrowEnds(std::vector<WatchedCall>& calls);

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_WATCHDOG_TIMES_H_
