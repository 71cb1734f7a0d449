#include "detector/steps/routed_spread.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/own_time.h"
#include "detector/steps/step_finder.h"
#include "detector/steps/step_profile.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 8;
constexpr int32_t kGroupSize = 4;  // ranks 0 to 3, and 4 to 7
constexpr int32_t kSteps = 8;
constexpr uint32_t kAllToAlls = 8;  // of a step: dispatch and combine of four layers
constexpr int32_t kTensor = 2;      // communicator; the expert groups are 0 and 1
constexpr double kWork = 0.01;

// The factor by which a rank works longer than kWork before a call: of a rank, a step, the number of the AllToAll, or
// of the layer whose tensor operation it is.
using Factor = std::function<double(int32_t rank, int32_t step, uint32_t number)>;

class RoutedSpreadTest : public ::testing::Test {
 protected:
  RoutedSpreadTest() {
    trace_.ranks.resize(kRanks);
    trace_.communicators = {
        {.members = {0, 1, 2, 3}}, {.members = {4, 5, 6, 7}}, {.members = {0, 1, 2, 3, 4, 5, 6, 7}}};
    roles_.communicators = {{.role = GroupRole::kExpert, .family = 0},
                            {.role = GroupRole::kExpert, .family = 0},
                            {.role = GroupRole::kTensor, .family = 1}};
    roles_.families = 2;
    steps_.ranks = kRanks;
    steps_.steps = kSteps;
    steps_.usual.assign(kSteps, 1);
  }

  // `tensor`: none = jobs that do nothing but AllToAlls; else an operation of the whole job before each dispatch.
  RoutedSpread Measure(const Factor& routed, const Factor& tensor = nullptr) {
    trace_.operations.clear();
    times_.before.clear();
    steps_.ranges.clear();
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      for (int32_t step = 0; step < kSteps; ++step) {
        const auto begin = static_cast<uint32_t>(trace_.operations.size());
        for (uint32_t k = 0; k < kAllToAlls; ++k) {
          if (tensor && k % 2 == 0) {
            Call(kTensor, OperationKind::kAllReduce, step * kAllToAlls / 2 + k / 2, tensor(rank, step, k / 2));
          }
          Call(rank / kGroupSize, OperationKind::kAllToAll, step * kAllToAlls + k, routed(rank, step, k));
        }
        steps_.ranges.push_back({begin, static_cast<uint32_t>(trace_.operations.size()), true});
      }
    }
    return MeasureRoutedSpread(trace_, roles_, steps_, times_);
  }

  // The same with maps, for jobs with tensor operations.
  RoutedSpread Reference() const {
    std::map<std::tuple<bool, int32_t, int32_t, uint64_t>, std::vector<double>> places;  // routed, group, step, place
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      for (int32_t step = 0; step < kSteps; ++step) {
        const StepRange& range = steps_.Of(static_cast<size_t>(rank), step);
        for (uint32_t i = range.begin; i < range.end; ++i) {
          const OwnInterval& interval = times_.before[i];
          if (interval.seconds < 0) continue;
          const bool routed = IsAllToAll(i) && interval.after != kNoOperation && IsAllToAll(interval.after);
          if (IsAllToAll(i) && !routed) continue;
          const uint64_t place = 2 * trace_.operations[i].sequence + (IsAllToAll(i) ? 1 : 0);
          places[{routed, rank / kGroupSize, step, place}].push_back(static_cast<double>(interval.seconds));
        }
      }
    }
    double excess[2] = {}, mean[2] = {};
    for (const auto& [key, values] : places) {
      if (values.size() != kGroupSize) continue;
      double sum = 0;
      for (const double value : values) sum += value;
      excess[std::get<0>(key)] += *std::max_element(values.begin(), values.end()) - sum / kGroupSize;
      mean[std::get<0>(key)] += sum / kGroupSize;
    }
    return {.routed = excess[1] / mean[1], .unrouted = excess[0] / mean[0], .groups = 2};
  }

  Trace trace_;
  JobRoles roles_;
  StepTable steps_;
  OwnTimes times_;

 private:
  bool IsAllToAll(uint32_t i) const { return trace_.operations[i].kind == OperationKind::kAllToAll; }

  void Call(int32_t communicator, OperationKind kind, uint64_t sequence, double factor) {
    const auto i = static_cast<uint32_t>(trace_.operations.size());
    trace_.operations.push_back({.sequence = sequence, .communicator = communicator, .kind = kind});
    const bool first = i == 0 || sequence == 0;
    times_.before.push_back({.seconds = static_cast<float>(kWork * factor),
                             .after = first ? kNoOperation : i - 1,
                             .after_end = true,
                             .routed = !first && IsAllToAll(i) && IsAllToAll(i - 1)});
  }
};

double Even(int32_t, int32_t, uint32_t) { return 1; }

// Another member in each layer has twice the work of the others.
double HotInTurn(int32_t rank, int32_t step, uint32_t number) {
  if (number % 2 == 0) return 1;  // attention
  return (static_cast<uint32_t>(rank) + number / 2 + static_cast<uint32_t>(step)) % kGroupSize == 0 ? 2 : 1;
}

TEST_F(RoutedSpreadTest, AHotExpertInEveryLayerShowsThoughStepsEvenItOut) {
  const RoutedSpread spread = Measure(HotInTurn, Even);
  EXPECT_EQ(spread.groups, 2u);
  EXPECT_NEAR(spread.routed, 2 / 1.25 - 1, 1e-6);
  EXPECT_NEAR(spread.unrouted, 0, 1e-6);
}

TEST_F(RoutedSpreadTest, WhereNothingElseIsCalledTheQuieterHalfIsTheMeasure) {
  const RoutedSpread spread = Measure(HotInTurn);
  EXPECT_NEAR(spread.routed, 2 / 1.25 - 1, 1e-6);
  EXPECT_NEAR(spread.unrouted, 0, 1e-6);
}

TEST_F(RoutedSpreadTest, ASlowRankIsSlowInBoth) {
  const auto slow = [](int32_t rank, int32_t, uint32_t) { return rank == 2 ? 1.5 : 1.0; };
  for (const RoutedSpread& spread : {Measure(slow), Measure(slow, slow)}) {
    EXPECT_NEAR(spread.routed, spread.unrouted, 1e-6);
    EXPECT_GT(spread.routed, 0.1);
  }
}

TEST_F(RoutedSpreadTest, WhatIsLeftOfTheExpertsWorkBehindOtherOperationsIsNoOtherWork) {
  // The operation that runs beside the experts ends after all of them are done, but for the busiest.
  const auto left_over = [](int32_t rank, int32_t step, uint32_t number) {
    return HotInTurn(rank, step, number | 1) - (number % 2 == 0 ? 1 : 0);
  };
  const RoutedSpread spread = Measure(left_over, Even);
  EXPECT_NEAR(spread.routed, 2 / 1.25 - 1, 1e-6);
  EXPECT_NEAR(spread.unrouted, 0, 1e-6);
}

TEST_F(RoutedSpreadTest, WhereHardlyAnythingElseIsDoneAttentionBehindOtherOperationsIsTheMeasure) {
  const auto hardly_any = [](int32_t, int32_t, uint32_t) { return 0.01; };
  const RoutedSpread spread = Measure(HotInTurn, hardly_any);
  EXPECT_NEAR(spread.routed, 2 / 1.25 - 1, 1e-6);
  EXPECT_NEAR(spread.unrouted, 0, 1e-6);
}

TEST_F(RoutedSpreadTest, WhereWorkBetweenAllToAllsIsAsEvenAsOtherWorkNoRoutingDecidesIt) {
  Random random(11);
  const Factor noise = [&](int32_t, int32_t, uint32_t) { return 1 + 0.02 * random.Gaussian(); };
  const auto decides = [&](const Factor& work, const Factor& tensor) { return Measure(work, tensor).decides; };
  EXPECT_FALSE(decides(noise, noise)) << "parts of sequences are exchanged";
  const Factor hot = [&](int32_t rank, int32_t step, uint32_t number) {
    return (0.9 + 0.1 * HotInTurn(rank, step, number)) * noise(rank, step, number);
  };
  EXPECT_TRUE(decides(hot, noise));
  EXPECT_TRUE(decides(HotInTurn, Even)) << "nothing else varies at all";
  roles_.communicators[0].role = roles_.communicators[1].role = GroupRole::kTensor;
  EXPECT_TRUE(decides(noise, noise)) << "nothing to compare";
}

TEST_F(RoutedSpreadTest, AgreesWithTheSlowReferenceOnRandomWork) {
  Random random(7);
  const Factor any = [&](int32_t, int32_t, uint32_t) { return random.Below(20) == 0 ? -1.0 : 1 + random.Unit(); };
  for (int trial = 0; trial < 50; ++trial) {
    const RoutedSpread spread = Measure(any, any);
    const RoutedSpread reference = Reference();
    EXPECT_NEAR(spread.routed, reference.routed, 1e-9);
    EXPECT_NEAR(spread.unrouted, reference.unrouted, 1e-9);
  }
}

}  // namespace
}  // namespace lockstep
