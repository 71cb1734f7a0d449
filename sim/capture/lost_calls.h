// Collectives that a rank called and of which it left no record: what a recorder that loses records counts all the
// same.
//
// A rank that has records of a communicator before and behind a collective of which other members have one called it as
// well. When, nobody knows: as early as the first of its members did, but on the rank's own clock between its calls
// before and behind it. What a rank called last may be lost too, and nothing tells. Pure. Cost O(n log n) for n
// operations and the calls that were lost, of which no rank has more than its communicators have collectives.

#ifndef LOCKSTEP_SIM_CAPTURE_LOST_CALLS_H_
#define LOCKSTEP_SIM_CAPTURE_LOST_CALLS_H_

#include <cstdint>
#include <vector>

#include "sim/capture/playback.h"

namespace lockstep {

struct LostCall {
  int64_t called_ns = 0;  // host clock
  int32_t communicator = -1;
  uint64_t sequence = 0;
};

// By rank index, then by time.
std::vector<std::vector<LostCall>> FindLostCalls(const Playback& playback);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_LOST_CALLS_H_
