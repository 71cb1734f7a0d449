// A kind of calls in the history of a rank, as the search for its steps sees it. Pure value.

#ifndef LOCKSTEP_DETECTOR_STEPS_CALL_KIND_H_
#define LOCKSTEP_DETECTOR_STEPS_CALL_KIND_H_

#include <cstdint>

namespace lockstep {

// Of one call: what kind it is (equal calls have equal kinds, numbered from 0), and how well it serves as an anchor
// among equals (the size of its group; 0 = never, it is one-sided).
struct CallKind {
  int32_t weight = 0;
  bool sized = false;    // its calls are of one known size
  bool slight = false;   // moves next to nothing: a loss, a norm, a barrier. What a step holds does not depend on it
  bool reduces = false;  // it sums up what members have, as gradients are
  int32_t family = -1;   // of groups that make such calls (communicator_families.h)
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_CALL_KIND_H_
