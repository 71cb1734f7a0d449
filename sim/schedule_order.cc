#include "sim/schedule_order.h"

#include <algorithm>

namespace lockstep {
namespace {

// The k-th pass of one direction: runs of `stages` microbatches go through one chunk after the other.
Pass PassAt(int32_t k, bool forward, int32_t stages, int32_t virtual_stages) {
  if (virtual_stages == 1) return {.forward = forward, .microbatch = k, .chunk = 0};
  const int32_t chunk = k / stages % virtual_stages;
  return {.forward = forward,
          .microbatch = k / (stages * virtual_stages) * stages + k % stages,
          .chunk = forward ? chunk : virtual_stages - 1 - chunk};
}

}  // namespace

PassOrder OrderOfPasses(int32_t stage, int32_t stages, int32_t microbatches, int32_t virtual_stages) {
  const int32_t total = microbatches * virtual_stages;
  PassOrder order;
  order.warmup = virtual_stages == 1 ? stages - stage - 1 : (stages - stage - 1) * 2 + (virtual_stages - 1) * stages;
  order.warmup = std::min(order.warmup, total);
  for (int32_t k = 0; k < order.warmup; ++k) order.passes.push_back(PassAt(k, true, stages, virtual_stages));
  for (int32_t k = order.warmup; k < total; ++k) {
    order.passes.push_back(PassAt(k, true, stages, virtual_stages));
    order.passes.push_back(PassAt(k - order.warmup, false, stages, virtual_stages));
  }
  for (int32_t k = total - order.warmup; k < total; ++k) {
    order.passes.push_back(PassAt(k, false, stages, virtual_stages));
  }
  return order;
}

}  // namespace lockstep
