// One rank's operations in the order of its own host clock, and what lies between them.
//
// For every synchronous operation: how long the rank was outside any operation since its previous synchronous one (its
// own time), how long inside operations with one-sided waits, and which operation the previous one was. An interval
// that cannot be trusted (records missing in it, overlapping operations, only enqueue times) is marked unknown, never
// guessed. O(1) per operation. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_RANK_TIMELINE_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_RANK_TIMELINE_H_

#include <cstdint>

#include "detector/collectives/operation_history.h"
#include "detector/input.h"

namespace lockstep {

class RankTimeline {
 public:
  // Takes the next operation by rising start; false when it contradicts itself (end before start) and was ignored.
  // For a synchronous operation `*participation` is filled in; for others it is left alone.
  bool Append(const Operation& operation, int32_t communicator_slot, int32_t member, Participation* participation);

  // Records are missing: the interval that is being measured cannot be known.
  void Break() { own_known_ = false; }

 private:
  int64_t cursor_ns_ = 0;  // end of the latest operation
  bool cursor_known_ = false;
  bool own_known_ = false;
  int64_t own_ns_ = 0;
  int64_t opaque_ns_ = 0;
  int32_t previous_slot_ = -1;
  int32_t previous_member_ = -1;
  uint64_t previous_sequence_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_RANK_TIMELINE_H_
