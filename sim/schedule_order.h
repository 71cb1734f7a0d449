// In which order a pipeline stage works through the forward and backward passes of its microbatches.
//
// 1F1B and interleaved 1F1B of Narayanan et al., SC'21, section 2.2. Pure; thread-safe.

#ifndef LOCKSTEP_SIM_SCHEDULE_ORDER_H_
#define LOCKSTEP_SIM_SCHEDULE_ORDER_H_

#include <cstdint>
#include <vector>

namespace lockstep {

struct Pass {
  bool forward = true;
  int32_t microbatch = 0;
  int32_t chunk = 0;  // which of the stage's virtual stages

  bool operator==(const Pass&) const = default;
};

struct PassOrder {
  std::vector<Pass> passes;
  int32_t warmup = 0;  // so many forward passes come before the first pair of forward and backward
};

// With virtual_stages > 1, microbatches must be a multiple of stages.
PassOrder OrderOfPasses(int32_t stage, int32_t stages, int32_t microbatches, int32_t virtual_stages);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_SCHEDULE_ORDER_H_
