#include "cli/series_steps.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/clock.h"

namespace lockstep {
namespace {

wire::Series MakeSeries(const std::vector<std::pair<int64_t, double>>& points) {
  wire::Series series;
  for (const auto& [seconds, value] : points) {
    series.add_wall_ns(seconds * kNanosPerSecond);
    series.add_values(value);
  }
  return series;
}

std::vector<std::pair<int64_t, double>> Seconds(const std::vector<SeriesStep>& steps) {
  std::vector<std::pair<int64_t, double>> pairs;
  for (const SeriesStep& step : steps) pairs.emplace_back(step.wall_ns / kNanosPerSecond, step.value);
  return pairs;
}

using Points = std::vector<std::pair<int64_t, double>>;

TEST(SeriesStepsTest, AStepIsTheMeanOfItsSamples) {
  const wire::Series series = MakeSeries({{10, 1}, {11, 3}, {19, 5}, {20, 7}});
  EXPECT_EQ(Seconds(CondenseToSteps(series, {10 * kNanosPerSecond, 30 * kNanosPerSecond, 10 * kNanosPerSecond})),
            (Points{{10, 3}, {20, 7}}));
}

// Samples late by turns: whoever asks a moment later is told the same steps.
TEST(SeriesStepsTest, ASampleIsInTheSameStepWheneverSomebodyAsks) {
  const wire::Series series = MakeSeries({{100, 1}, {109, 2}, {120, 3}, {129, 4}});
  const Points steps = {{100, 1.5}, {120, 3.5}};
  for (int64_t now = 130; now < 150; ++now) {
    EXPECT_EQ(
        Seconds(CondenseToSteps(series, StepsUntil(now * kNanosPerSecond, 50 * kNanosPerSecond, 10 * kNanosPerSecond))),
        steps)
        << "asked at " << now;
  }
}

TEST(SeriesStepsTest, TheFirstStepHoldsTheTimeThatWasAskedFor) {
  const StepWindow window = StepsUntil(137, 50, 10);
  EXPECT_EQ(window.from_ns, 80);
  EXPECT_EQ(window.to_ns, 137);
  EXPECT_EQ(StepsUntil(137, 137, 10).from_ns, 0);
}

TEST(SeriesStepsTest, EmptyStepsAreLeftOutAndBoundsAreHalfOpen) {
  const wire::Series series = MakeSeries({{9, 100}, {10, 1}, {35, 2}, {40, 100}});
  EXPECT_EQ(Seconds(CondenseToSteps(series, {10 * kNanosPerSecond, 40 * kNanosPerSecond, 10 * kNanosPerSecond})),
            (Points{{10, 1}, {30, 2}}));
}

TEST(SeriesStepsTest, UnequalColumnsAreReadUpToTheShorter) {
  wire::Series series = MakeSeries({{1, 1}, {2, 2}});
  series.mutable_values()->RemoveLast();
  EXPECT_EQ(Seconds(CondenseToSteps(series, {0, 10 * kNanosPerSecond, kNanosPerSecond})), (Points{{1, 1}}));
}

TEST(SeriesStepsTest, RatesArePerSecondAndSurviveResets) {
  const wire::Series rates = ToRatePerSecond(MakeSeries({{10, 100}, {12, 140}, {13, 30}, {13, 31}, {15, 31}}));
  ASSERT_EQ(rates.values_size(), 3);
  EXPECT_EQ(rates.values(0), 20);  // 40 in 2 s
  EXPECT_EQ(rates.values(1), 30);  // reset, then 30 in 1 s
  EXPECT_EQ(rates.values(2), 0);
  EXPECT_EQ(rates.wall_ns(0), 12 * kNanosPerSecond);
}

}  // namespace
}  // namespace lockstep
