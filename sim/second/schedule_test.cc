// Every schedule does all passes, each once, forward before backward before weights.

#include "sim/second/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/second/world.h"

namespace lockstep::second {
namespace {

Shape ShapeOf(Schedule schedule) {
  Shape shape;
  shape.pipeline = 4;
  shape.microbatches = 8;
  shape.chunks = schedule == Schedule::kInterleaved ? 2 : 1;
  shape.schedule = schedule;
  return shape;
}

TEST(ScheduleTest, EveryPassComesOnceAndInOrder) {
  for (const Schedule schedule :
       {Schedule::kAllForwardFirst, Schedule::kOneForwardOneBackward, Schedule::kInterleaved, Schedule::kZeroBubble}) {
    const Shape shape = ShapeOf(schedule);
    for (int stage = 0; stage < shape.pipeline; ++stage) {
      const std::vector<Pass> passes = PassesOf(shape, stage);
      const auto at = [&](const Pass& pass) { return std::find(passes.begin(), passes.end(), pass) - passes.begin(); };
      const size_t kinds = schedule == Schedule::kZeroBubble ? 3 : 2;
      EXPECT_EQ(passes.size(), kinds * 8 * static_cast<size_t>(shape.chunks));
      for (int microbatch = 0; microbatch < 8; ++microbatch) {
        for (int chunk = 0; chunk < shape.chunks; ++chunk) {
          const auto backward = at({PassKind::kBackward, microbatch, chunk});
          EXPECT_LT(at({PassKind::kForward, microbatch, chunk}), backward);
          ASSERT_LT(backward, static_cast<long>(passes.size()));
          if (kinds == 3) {
            EXPECT_GT(at({PassKind::kWeights, microbatch, chunk}), backward);
          }
        }
      }
    }
  }
}

TEST(ScheduleTest, EarlierStagesRunFurtherAhead) {
  const Shape shape = ShapeOf(Schedule::kOneForwardOneBackward);
  for (int stage = 0; stage < shape.pipeline; ++stage) {
    const std::vector<Pass> passes = PassesOf(shape, stage);
    const auto first =
        std::find_if(passes.begin(), passes.end(), [](const Pass& pass) { return pass.kind == PassKind::kBackward; });
    EXPECT_EQ(first - passes.begin(), shape.pipeline - stage);
  }
}

}  // namespace
}  // namespace lockstep::second
