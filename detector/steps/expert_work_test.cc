#include "detector/steps/expert_work.h"

#include <cstdint>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/steps/own_time.h"
#include "detector/steps/step_finder.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 6;
constexpr uint32_t kAllToAlls = 8;  // of a step: dispatch and combine of four layers
constexpr double kAttention = 0.005, kExperts = 0.006;

// One step of ranks that do nothing but AllToAlls. Piece k of a rank is the work before its AllToAll k: experts' work
// where k is odd, attention where it is even; the first follows no AllToAll.
class ExpertWorkTest : public ::testing::Test {
 protected:
  template <typename Factor>
  std::vector<double> Comparable(const Factor& factor) {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const auto begin = static_cast<uint32_t>(trace_.operations.size());
      for (uint32_t k = 0; k < kAllToAlls; ++k) {
        TraceOperation operation;
        operation.kind = OperationKind::kAllToAll;
        trace_.operations.push_back(operation);
        const double usual = k % 2 == 1 ? kExperts : kAttention;
        times_.before.push_back({.seconds = static_cast<float>(usual * factor(rank, k)),
                                 .after = k == 0 ? kNoOperation : begin + k - 1,
                                 .after_end = true,
                                 .routed = k > 0});
      }
      steps_.ranges.push_back({begin, begin + kAllToAlls, true});
      peers_.push_back(rank);
    }
    steps_.steps = 1;
    steps_.ranks = kRanks;
    return ExpertWork(trace_, steps_, times_).Comparable(peers_, 0);
  }

  static double Usual() { return 4 * kExperts + 3 * kAttention; }

  Trace trace_;
  StepTable steps_;
  OwnTimes times_;
  std::vector<int32_t> peers_;
};

TEST_F(ExpertWorkTest, ASlowRankIsSlowEverywhere) {
  const std::vector<double> seconds = Comparable([](int32_t rank, uint32_t) { return rank == 4 ? 1.5 : 1.0; });
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_NEAR(seconds[static_cast<size_t>(rank)], Usual() * (rank == 4 ? 1.5 : 1), 1e-6) << rank;
  }
}

TEST_F(ExpertWorkTest, FavouredExpertsAreNobodysFault) {
  const std::vector<double> seconds =
      Comparable([](int32_t rank, uint32_t k) { return rank == 4 && k % 2 == 1 ? 2.0 : 1.0; });
  for (const double own : seconds) EXPECT_NEAR(own, Usual(), 1e-6);
}

TEST_F(ExpertWorkTest, ASlowRankWithFavouredExpertsIsAsSlowAsItIs) {
  const std::vector<double> seconds = Comparable(
      [](int32_t rank, uint32_t k) { return (rank == 4 ? 1.3 : 1.0) * (rank == 4 && k % 2 == 1 ? 2.0 : 1.0); });
  EXPECT_NEAR(seconds[4], 1.3 * Usual(), 1e-6);
}

TEST_F(ExpertWorkTest, RoutedWorkIsHeldByWhatBeganTogetherWithItsAllToAll) {
  trace_.operations.resize(5);
  for (const size_t i : {0, 3}) trace_.operations[i].kind = OperationKind::kAllToAll;
  times_.before = {{.seconds = 0.1F},
                   {.seconds = 0.2F, .after = 0, .after_end = true, .routed = true},  // two reductions, and then
                   {.seconds = 0, .after = 1},
                   {.seconds = 0, .after = 2},  // the AllToAll
                   {.seconds = 0.1F, .after = 3}};
  EXPECT_EQ(HolderOfRoutedWork(trace_, times_, 3), 1U);
  EXPECT_EQ(HolderOfRoutedWork(trace_, times_, 0), kNoOperation);
  EXPECT_EQ(HolderOfRoutedWork(trace_, times_, 4), kNoOperation) << "not beyond another AllToAll";
}

TEST_F(ExpertWorkTest, WhatIsUnknownIsLeftOut) {
  const std::vector<double> seconds = Comparable([](int32_t rank, uint32_t k) {
    if (rank == 1) return -1.0;  // nothing known
    return rank == 4 && k == 3 ? -1.0 : 1.0;
  });
  EXPECT_EQ(seconds[1], 0);
  EXPECT_NEAR(seconds[4], Usual() - kExperts, 1e-6);
  EXPECT_NEAR(seconds[0], Usual(), 1e-6);
}

}  // namespace
}  // namespace lockstep
