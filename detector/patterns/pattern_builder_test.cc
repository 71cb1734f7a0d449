// From calls to the patterns of a rank: what counts, what is left out, and that nothing grows without limit.

#include "detector/patterns/pattern_builder.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr FunctionKind kKernel = FunctionKind::kGpuCompute;
constexpr FunctionKind kPython = FunctionKind::kPython;

// In milliseconds.
void Call(PatternBuilder& builder, FunctionKind kind, const std::string& name, int64_t begin, int64_t end,
          uint64_t lane = 1, double utilisation = 0) {
  const Utilisation counts = kind == kKernel ? Utilisation::kOccupancy : Utilisation::kNone;
  builder.Add({.function = builder.Function(kind, name, counts),
               .lane = lane,
               .begin_ns = begin * kMs,
               .duration_ns = (end - begin) * kMs,
               .utilisation = utilisation});
}

const FunctionPattern* Find(const RankPatterns& patterns, const std::string& name) {
  const auto found = std::find_if(patterns.functions.begin(), patterns.functions.end(),
                                  [&](const FunctionPattern& pattern) { return pattern.name == name; });
  return found == patterns.functions.end() ? nullptr : &*found;
}

double SharesOf(const RankPatterns& patterns) {
  double sum = patterns.idle + patterns.left_out.beta;
  for (const FunctionPattern& pattern : patterns.functions) sum += pattern.beta;
  return sum;
}

TEST(PatternBuilderTest, SharesDurationsRatesAndUtilisation) {
  PatternBuilder builder;
  Call(builder, FunctionKind::kRuntime, "cudaLaunchKernel", 0, 100);
  Call(builder, kKernel, "gemm", 10, 30, 7, 0.5);
  Call(builder, kKernel, "gemm", 40, 50, 7, 0.2);
  const RankPatterns patterns = builder.Finish();
  EXPECT_DOUBLE_EQ(patterns.window_seconds, 0.1);
  const FunctionPattern* const gemm = Find(patterns, "gemm");
  ASSERT_NE(gemm, nullptr);
  EXPECT_DOUBLE_EQ(gemm->beta, 0.3);
  EXPECT_DOUBLE_EQ(gemm->calls_per_second, 20);
  EXPECT_DOUBLE_EQ(gemm->mean_seconds, 0.015);
  EXPECT_NEAR(gemm->spread, 5.0 / 15, 1e-9);
  EXPECT_EQ(gemm->utilisation, Utilisation::kOccupancy);
  EXPECT_NEAR(gemm->mu, (20 * 0.5 + 10 * 0.2) / 30, 1e-9);
  EXPECT_NEAR(gemm->sigma, 0.1414, 1e-3);
  EXPECT_DOUBLE_EQ(Find(patterns, "cudaLaunchKernel")->beta, 0.7);
  EXPECT_EQ(Find(patterns, "cudaLaunchKernel")->utilisation, Utilisation::kNone);
}

TEST(PatternBuilderTest, TheWindowIsThatOfTheSteps) {
  PatternBuilder builder;
  builder.AddStep(1, 100 * kMs, 100 * kMs);
  builder.AddStep(1, 200 * kMs, 50 * kMs);
  Call(builder, kPython, "forward", 0, 400);
  const RankPatterns patterns = builder.Finish();
  EXPECT_EQ(patterns.steps, 2);
  EXPECT_DOUBLE_EQ(patterns.window_seconds, 0.15);
  EXPECT_DOUBLE_EQ(Find(patterns, "forward")->beta, 1);
}

TEST(PatternBuilderTest, ThreadsInTheBackgroundDelayNobody) {
  PatternBuilder builder;
  builder.AddStep(1, 0, 100 * kMs);
  Call(builder, kPython, "train", 0, 100, 1);
  Call(builder, kPython, "watch", 50, 90, 2);
  const RankPatterns patterns = builder.Finish();
  EXPECT_EQ(Find(patterns, "watch"), nullptr);
  EXPECT_DOUBLE_EQ(Find(patterns, "train")->beta, 1);
}

constexpr char kPinLoop[] = "torch/utils/data/_utils/pin_memory.py(18): _pin_memory_loop";

// Ten steps of 100 ms: the main thread (1) computes the forward pass, another (2) the backward pass, and that of
// DataLoader's pin_memory (3) copies a batch for 20 ms, and waits for the next one. `shows_gpu`: its driver calls.
RankPatterns WithPinThread(bool with_steps, bool shows_gpu) {
  PatternBuilder builder;
  for (int64_t at = 0; at < 1000; at += 100) {
    if (with_steps) builder.AddStep(1, at * kMs, 100 * kMs);
    Call(builder, kPython, "train_step", at, at + 100, 1);
    Call(builder, kPython, "_next_data", at, at + 1, 1);
    Call(builder, kPython, "backward_hook", at + 90, at + 95, 2);
    for (int64_t i = 0; i < 20; ++i) {
      Call(builder, FunctionKind::kOperator, "aten::linear", at + 10 + i, at + 11 + i, 1);
      Call(builder, FunctionKind::kOperator, "LinearBackward", at + 50 + 2 * i, at + 52 + 2 * i, 2);
      if (!shows_gpu) continue;
      if (i == 0) Call(builder, FunctionKind::kRuntime, "cudaLaunchKernel", at + 10, at + 11, 1);
      Call(builder, FunctionKind::kRuntime, "cudaLaunchKernel", at + 50 + 2 * i, at + 51 + 2 * i, 2);
    }
    if (shows_gpu) Call(builder, FunctionKind::kRuntime, "cudaLaunchKernel", at + 30, at + 31, 1);
    Call(builder, kPython, kPinLoop, at + 2, at + 100, 3);
    Call(builder, FunctionKind::kOperator, "aten::pin_memory", at + 3, at + 23, 3);
    if (shows_gpu) Call(builder, FunctionKind::kRuntime, "cudaHostAlloc", at + 4, at + 8, 3);
    Call(builder, kPython, "multiprocessing/queues.py(97): get", at + 23, at + 100, 3);
  }
  return builder.Finish();
}

TEST(PatternBuilderTest, AThreadThatPinsMemoryDelaysNobody) {
  for (const bool with_steps : {false, true}) {
    for (const bool shows_gpu : {false, true}) {
      const RankPatterns patterns = WithPinThread(with_steps, shows_gpu);
      EXPECT_EQ(Find(patterns, kPinLoop), nullptr) << with_steps << shows_gpu;
      EXPECT_EQ(Find(patterns, "aten::pin_memory"), nullptr) << with_steps << shows_gpu;
      EXPECT_EQ(Find(patterns, "cudaHostAlloc"), nullptr) << with_steps << shows_gpu;
      EXPECT_EQ(Find(patterns, "multiprocessing/queues.py(97): get"), nullptr) << with_steps << shows_gpu;
      ASSERT_NE(Find(patterns, "_next_data"), nullptr) << "the main thread leads, though another launches more";
      EXPECT_NEAR(Find(patterns, "_next_data")->beta, 0.01, 1e-9);
      ASSERT_NE(Find(patterns, "backward_hook"), nullptr) << "and so does that of the backward pass";
      EXPECT_NEAR(Find(patterns, "backward_hook")->beta, 0.05, 1e-9);
    }
  }
}

// A thread that now and then calls an operator (it writes a log, say) and waits in between.
TEST(PatternBuilderTest, OfAThreadThatWorksSeldomOnlyTheWorkCounts) {
  PatternBuilder builder;
  builder.AddStep(1, 0, 100 * kMs);
  Call(builder, kPython, "train", 0, 100, 1);
  for (int64_t i = 0; i < 40; ++i) Call(builder, FunctionKind::kOperator, "aten::mm", i, i + 1, 1);
  Call(builder, kPython, "wait for values", 40, 100, 2);
  Call(builder, FunctionKind::kAnnotation, "log", 45, 100, 2);
  Call(builder, FunctionKind::kOperator, "aten::mean", 50, 60, 2);
  const RankPatterns patterns = builder.Finish();
  EXPECT_EQ(Find(patterns, "wait for values"), nullptr);
  EXPECT_EQ(Find(patterns, "log"), nullptr);
  EXPECT_NEAR(Find(patterns, "aten::mean")->beta, 0.1, 1e-9);
  EXPECT_NEAR(Find(patterns, "train")->beta, 0.5, 1e-9);
}

TEST(PatternBuilderTest, LongCallsAreWhole) {
  PatternBuilder builder;
  Call(builder, kPython, "wait", 0, 20'000);
  Call(builder, kPython, "after", 20'000, 25'000);
  const RankPatterns patterns = builder.Finish();
  EXPECT_DOUBLE_EQ(Find(patterns, "wait")->beta, 0.8);
  EXPECT_DOUBLE_EQ(Find(patterns, "wait")->mean_seconds, 20);
}

TEST(PatternBuilderTest, NothingComesOfNothing) {
  PatternBuilder builder;
  const RankPatterns patterns = builder.Finish();
  EXPECT_EQ(patterns.window_seconds, 0);
  EXPECT_TRUE(patterns.functions.empty());
}

TEST(PatternBuilderTest, TimesBeyondAllReasonAreLeftOut) {
  PatternBuilder builder;
  Call(builder, kPython, "a", 0, 10);
  const uint32_t function = builder.Function(kPython, "a", Utilisation::kNone);
  builder.Add({.function = function, .begin_ns = INT64_MAX / 2, .duration_ns = 5});
  builder.Add({.function = function, .begin_ns = 0, .duration_ns = INT64_MAX / 2});
  builder.Add({.function = function, .begin_ns = 0, .duration_ns = -1});
  const RankPatterns patterns = builder.Finish();
  EXPECT_EQ(patterns.left_out.events, 3u);
  EXPECT_DOUBLE_EQ(patterns.window_seconds, 0.01);
}

TEST(PatternBuilderTest, BeyondTheLimitTheShortestCallsGo) {
  PatternBuilder builder({.events = 64});
  int64_t at = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t length = 1 + i % 50;
    Call(builder, kKernel, i % 50 == 49 ? "long" : "short", at, at + length, 7);
    at += length;
  }
  const RankPatterns patterns = builder.Finish();
  EXPECT_GT(patterns.left_out.events, 900u);
  EXPECT_GT(patterns.left_out.event_seconds, 0);
  EXPECT_DOUBLE_EQ(Find(patterns, "long")->beta, 50.0 * 20 / static_cast<double>(at))
      << "all of the long ones are kept";
  EXPECT_DOUBLE_EQ(Find(patterns, "long")->mean_seconds, 0.05);
  EXPECT_NEAR(SharesOf(patterns), 1, 1e-9) << "what is not looked at shows as idle";
}

TEST(PatternBuilderTest, AMillionNamesAreOneFunctionMore) {
  PatternBuilder builder({.functions = 100});
  for (int64_t i = 0; i < 10'000; ++i) Call(builder, kPython, absl::StrCat("function ", i), i, i + 1);
  const RankPatterns patterns = builder.Finish();
  EXPECT_EQ(patterns.left_out.unnamed_calls, 10'000u - 93);
  EXPECT_EQ(patterns.functions[0].name, "(further functions)");
  EXPECT_NEAR(patterns.functions[0].beta, 0.9907, 1e-9);
}

TEST(PatternBuilderTest, LongNamesAreCut) {
  PatternBuilder builder;
  Call(builder, kPython, std::string(1 << 20, 'x'), 0, 1);
  const RankPatterns patterns = builder.Finish();
  EXPECT_EQ(patterns.functions.at(0).name, std::string(kMostFunctionNameBytes, 'x'));
}

TEST(PatternBuilderTest, WhateverTheCallsASummaryIsSmallAndShareAddUp) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    PatternBuilder builder({.events = 500, .functions = 400});
    const int64_t functions = 1 + static_cast<int64_t>(random.Below(600));
    for (uint64_t n = random.Below(3000); n > 0; --n) {
      const auto kind = static_cast<FunctionKind>(random.Below(kFunctionKinds));
      const auto begin = static_cast<int64_t>(random.Below(5000));
      const std::string name =
          absl::StrCat(std::string(random.Below(150), "\"\\\n a"[random.Below(5)]), random.Below(functions));
      Call(builder, kind, name, begin, begin + static_cast<int64_t>(random.Below(40)), random.Below(30),
           random.Unit() * 2 - 0.5);
    }
    const RankPatterns patterns = builder.Finish();
    size_t bytes = 0;
    for (const FunctionPattern& pattern : patterns.functions) {
      bytes += PatternBytes(pattern);
      EXPECT_GE(pattern.beta, kLeastBeta);
      EXPECT_LE(pattern.beta, 1 + 1e-9);
    }
    EXPECT_LE(bytes, kMostPatternBytes) << seed;
    if (patterns.window_seconds > 0) {
      EXPECT_NEAR(SharesOf(patterns), 1, 1e-6) << seed;
    }
    EXPECT_TRUE(std::is_sorted(patterns.functions.begin(), patterns.functions.end(),
                               [](const auto& a, const auto& b) { return a.beta > b.beta; }));
  }
}

}  // namespace
}  // namespace lockstep
