#include "sim/second/schedule.h"

#include <algorithm>
#include <vector>

namespace lockstep::second {
namespace {

// How many forward passes a stage is ahead of its first backward pass.
int Warmup(const Shape& shape, int stage) {
  const int all = shape.microbatches * shape.chunks;
  switch (shape.schedule) {
    case Schedule::kAllForwardFirst:
      return all;
    case Schedule::kInterleaved:
      return std::min(all, (shape.pipeline - stage - 1) * 2 + (shape.chunks - 1) * shape.pipeline);
    default:
      return std::min(all, shape.pipeline - stage - 1);
  }
}

// The `index`-th pass of its kind: groups of as many microbatches as there are stages go through one chunk, then
// through the next. Backward passes take the chunks from the last.
Pass NthPass(const Shape& shape, PassKind kind, int index) {
  const int group = shape.pipeline * shape.chunks;
  const int chunk = shape.chunks == 1 ? 0 : index % group / shape.pipeline;
  const int microbatch = shape.chunks == 1 ? index : index / group * shape.pipeline + index % shape.pipeline;
  return {kind, microbatch, kind == PassKind::kForward ? chunk : shape.chunks - 1 - chunk};
}

}  // namespace

std::vector<Pass> PassesOf(const Shape& shape, int stage) {
  const int all = shape.microbatches * shape.chunks;
  const int warmup = Warmup(shape, stage);
  const bool split = shape.schedule == Schedule::kZeroBubble;
  std::vector<Pass> passes;
  for (int i = 0; i < warmup; ++i) passes.push_back(NthPass(shape, PassKind::kForward, i));
  int weights = 0;
  for (int i = 0; i < all; ++i) {
    if (warmup + i < all) passes.push_back(NthPass(shape, PassKind::kForward, warmup + i));
    passes.push_back(NthPass(shape, PassKind::kBackward, i));
    // Later stages put off more of it: they have more to fill at the end.
    if (split && i >= stage) passes.push_back(NthPass(shape, PassKind::kWeights, weights++));
  }
  while (split && weights < all) passes.push_back(NthPass(shape, PassKind::kWeights, weights++));
  return passes;
}

}  // namespace lockstep::second
