#include "detector/steps/reduction_counts.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Gathers and reductions of shards in groups 0, the anchor's; sums over replicas in groups 1; a norm in groups 2.
constexpr int32_t kGather = 0, kScatter = 1, kSum = 2, kNorm = 3;
const std::vector<CallKind> kKinds = {{4, true, false, false, 0},
                                      {4, true, false, /*reduces=*/true, 0},
                                      {32, true, false, /*reduces=*/true, 1},
                                      {128, true, /*slight=*/true, /*reduces=*/true, 2}};

bool TellParts(const std::vector<std::vector<int32_t>>& stretches) {
  ReductionCounts counts(kKinds, 0, stretches.size());
  for (size_t stretch = 0; stretch < stretches.size(); ++stretch) {
    for (const int32_t kind : stretches[stretch]) counts.Note(static_cast<size_t>(kind), stretch);
  }
  return counts.TellParts();
}

std::vector<std::vector<int32_t>> Repeat(const std::vector<std::vector<int32_t>>& step, int times) {
  std::vector<std::vector<int32_t>> stretches;
  for (int i = 0; i < times; ++i) stretches.insert(stretches.end(), step.begin(), step.end());
  return stretches;
}

TEST(ReductionCountsTest, WhatIsSummedInEverySecondOrThirdStretchTellsParts) {
  const std::vector<int32_t> first = {kGather, kScatter, kGather, kScatter};
  const std::vector<int32_t> last = {kGather, kScatter, kSum, kGather, kScatter, kSum};
  EXPECT_TRUE(TellParts(Repeat({first, last}, 5)));
  EXPECT_TRUE(TellParts(Repeat({first, first, last}, 5)));
  EXPECT_FALSE(TellParts(Repeat({last}, 10))) << "whole steps";
  EXPECT_FALSE(TellParts(Repeat({first}, 10))) << "nothing is summed";
  EXPECT_FALSE(TellParts({first, last, first, last, first})) << "twice is no repetition";
}

TEST(ReductionCountsTest, WhatIsSummedBehindTheAnchorEndsTheStretchBefore) {
  // The step's last sum and its norm come behind the last reduction of shards.
  const std::vector<int32_t> first = {kSum, kNorm, kGather, kScatter}, last = {kGather, kScatter, kSum, kScatter};
  EXPECT_TRUE(TellParts(Repeat({first, last}, 5)));
}

TEST(ReductionCountsTest, EvaluationsAtEqualIntervalsDoNot) {
  const std::vector<int32_t> step = {kGather, kScatter, kSum};
  std::vector<int32_t> evaluated = step;
  evaluated.insert(evaluated.end(), 20, kGather);
  EXPECT_FALSE(TellParts(Repeat({step, step, step, evaluated}, 5)));
}

TEST(ReductionCountsTest, WhatMovesNextToNothingDoesNot) {
  EXPECT_FALSE(TellParts(Repeat({{kGather, kScatter}, {kGather, kScatter, kNorm}}, 5)));
}

TEST(ReductionCountsTest, StretchesAreEquallyFarApartButForAFew) {
  const std::vector<int32_t> first = {kGather, kScatter}, last = {kGather, kScatter, kSum, kScatter};
  std::vector<std::vector<int32_t>> stretches = Repeat({first, last}, 12);
  stretches.insert(stretches.begin() + 6, first);
  EXPECT_TRUE(TellParts(stretches));
  stretches.insert(stretches.begin() + 12, first);
  stretches.insert(stretches.begin() + 20, first);
  EXPECT_FALSE(TellParts(stretches));
}

}  // namespace
}  // namespace lockstep
