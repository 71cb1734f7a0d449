#include "sim/patterns/job_functions.h"

#include <cstddef>
#include <cstdint>
#include <set>

#include "base/random.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/function_kind.h"
#include "gtest/gtest.h"
#include "sim/patterns/base_functions.h"
#include "sim/patterns/pattern_kinds.h"

namespace lockstep {
namespace {

PatternKind Fault(FunctionKind kind, const char* function, PatternEffect effect) {
  return {PatternClass::kHostWork, false, kind, function, effect, 0.05, 0.2};
}

TEST(JobFunctionsTest, AreThoseOfTheFrameworkWithinTheirRanges) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const auto framework = static_cast<uint8_t>(1u << random.Below(kFrameworks));
    const JobFunctions drawn = DrawJobFunctions(framework, nullptr, random);
    size_t at = 0;
    for (const BaseFunction& base : AllBaseFunctions()) {
      if ((base.frameworks & framework) == 0) continue;
      ASSERT_LT(at, drawn.last);
      const JobFunction& function = drawn.functions[at++];
      EXPECT_EQ(function.name, base.name);
      EXPECT_GE(function.seconds, base.least_share * (1 - 1e-9));
      EXPECT_LE(function.seconds, base.most_share * (1 + 1e-9));
      EXPECT_GE(function.calls, base.least_calls);
      EXPECT_LE(function.calls, base.most_calls);
    }
    EXPECT_EQ(at, drawn.last) << "the last is the collective in which all wait";
    EXPECT_EQ(drawn.functions.size(), drawn.last + 1);
    EXPECT_EQ(drawn.functions[drawn.last].kind, FunctionKind::kCollective);
    EXPECT_EQ(drawn.fault, JobFunctions::kNone);
  }
}

TEST(JobFunctionsTest, TheSameSequenceMakesTheSameFunctions) {
  Random one(7), other(7);
  const JobFunctions a = DrawJobFunctions(kMegatron, nullptr, one), b = DrawJobFunctions(kMegatron, nullptr, other);
  ASSERT_EQ(a.functions.size(), b.functions.size());
  for (size_t i = 0; i < a.functions.size(); ++i) EXPECT_EQ(a.functions[i].seconds, b.functions[i].seconds);
  EXPECT_EQ(one.Next(), other.Next());
}

TEST(JobFunctionsTest, WhatGoesWrongIsThereBefore) {
  for (const BaseFunction& base : AllBaseFunctions()) {
    const auto framework = static_cast<uint8_t>(base.frameworks & -base.frameworks);
    const PatternKind fault = Fault(base.kind, base.name, PatternEffect::kLongerCalls);
    Random random(3);
    const JobFunctions drawn = DrawJobFunctions(framework, &fault, random);
    ASSERT_LT(drawn.fault, drawn.last) << base.name;
    const JobFunction& function = drawn.functions[drawn.fault];
    EXPECT_EQ(function.name, base.name);
    EXPECT_TRUE(function.stretched);
    EXPECT_EQ(function.stages, OnStages::kAll) << "on whichever worker it is";
  }
}

TEST(JobFunctionsTest, WhatTheJobDoesNotCallIsAddedAndMayBeMissingOnHealthyWorkersIfItIsOfTheHost) {
  const PatternKind host = Fault(FunctionKind::kPython, "odd.py(1): odd", PatternEffect::kMoreCalls);
  const PatternKind gpu = Fault(FunctionKind::kGpuCompute, "odd_kernel", PatternEffect::kMoreCalls);
  std::set<double> of_host, of_gpu;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const JobFunctions drawn = DrawJobFunctions(kMegatron, &host, random);
    EXPECT_EQ(drawn.fault, drawn.last + 1);
    EXPECT_FALSE(drawn.functions[drawn.fault].stretched);
    of_host.insert(drawn.functions[drawn.fault].seconds);
    const JobFunctions other = DrawJobFunctions(kMegatron, &gpu, random);
    of_gpu.insert(other.functions[other.fault].seconds);
  }
  EXPECT_EQ(of_host, (std::set<double>{0, 0.0005}));
  EXPECT_EQ(of_gpu, std::set<double>{0.01});
}

TEST(JobFunctionsTest, WhereManyGoWrongNoneIsNamed) {
  const PatternKind slow = Fault(FunctionKind::kGpuCompute, "", PatternEffect::kSlowGpu);
  Random random(5);
  EXPECT_EQ(DrawJobFunctions(kSharded, &slow, random).fault, JobFunctions::kNone);
}

}  // namespace
}  // namespace lockstep
