// The order in which a pipeline stage works through its microbatches.
//
// Pure function; thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_SCHEDULE_H_
#define LOCKSTEP_SIM_SECOND_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "sim/second/world.h"

namespace lockstep::second {

// kWeights: the half of a backward pass that nobody waits for; only where the schedule splits it off.
enum class PassKind : uint8_t { kForward, kBackward, kWeights };

struct Pass {
  PassKind kind = PassKind::kForward;
  int microbatch = 0;
  int chunk = 0;

  bool operator==(const Pass&) const = default;
};

// Every microbatch of every chunk once forward and once backward (and once kWeights). Interleaved: microbatches are a
// multiple of the stages.
std::vector<Pass> PassesOf(const Shape& shape, int stage);

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_SCHEDULE_H_
