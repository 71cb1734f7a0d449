#include "detector/patterns/expected_ranges.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "detector/patterns/function_kind.h"
#include "detector/patterns/rank_patterns.h"

namespace lockstep {
namespace {

TEST(ExpectedRangesTest, EachGroupHasOneRowOfAllAndEachRowASource) {
  std::multiset<FunctionGroup> of_all;
  for (const ExpectedRange& range : AllExpectedRanges()) {
    EXPECT_NE(std::string(range.source), "");
    EXPECT_GT(range.most_beta, 0);
    EXPECT_LE(range.most_beta, 1);
    if (range.framework == KernelFramework::kAny && range.phase == WindowPhase::kAny) of_all.insert(range.group);
  }
  for (int group = 0; group < kFunctionGroups; ++group) {
    EXPECT_EQ(of_all.count(static_cast<FunctionGroup>(group)), 1u) << group;
  }
}

double Most(FunctionGroup group, KernelFramework framework, WindowPhase phase) {
  return ExpectedRangeOf(group, framework, phase).most_beta;
}

TEST(ExpectedRangesTest, TheRowThatFitsBestCounts) {
  EXPECT_EQ(Most(FunctionGroup::kOtherKernel, KernelFramework::kAny, WindowPhase::kAny), 0.5);
  EXPECT_EQ(Most(FunctionGroup::kOtherKernel, KernelFramework::kInductor, WindowPhase::kAny), 0.65);
  EXPECT_EQ(Most(FunctionGroup::kOtherKernel, KernelFramework::kInductor, WindowPhase::kUnmarked), 0.65);
  EXPECT_EQ(Most(FunctionGroup::kCheckpoint, KernelFramework::kInductor, WindowPhase::kAny), 0.05);
  EXPECT_EQ(Most(FunctionGroup::kCheckpoint, KernelFramework::kAny, WindowPhase::kUnmarked), 1);
  EXPECT_EQ(Most(FunctionGroup::kGarbageCollection, KernelFramework::kInductor, WindowPhase::kUnmarked), 0.01);
}

PatternFleet FleetOf(const std::string& kernel, int steps) {
  RankPatterns patterns;
  patterns.rank = 0;
  patterns.steps = steps;
  patterns.functions = {{.kind = FunctionKind::kGpuCompute, .name = kernel, .beta = 0.5}};
  PatternFleet fleet;
  fleet.Add(patterns);
  return fleet;
}

TEST(ExpectedRangesTest, NamesAndMarksTellFrameworkAndPhase) {
  EXPECT_EQ(FrameworkOf(FleetOf("triton_red_fused__softmax_3", 0)), KernelFramework::kInductor);
  EXPECT_EQ(FrameworkOf(FleetOf("sm90_gemm", 0)), KernelFramework::kAny);
  EXPECT_EQ(PhaseOf(FleetOf("sm90_gemm", 0)), WindowPhase::kUnmarked);
  EXPECT_EQ(PhaseOf(FleetOf("sm90_gemm", 5)), WindowPhase::kAny);
}

}  // namespace
}  // namespace lockstep
