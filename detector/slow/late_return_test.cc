// A host that comes back last from pauses, on a built analysis.

#include "detector/slow/late_return.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/model/trace.h"
#include "detector/steps/trace_analysis.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kHosts = 6, kOfHost = 4, kRanks = kHosts * kOfHost;
constexpr int32_t kSteps = 40, kEvery = 4;  // steps; each fourth holds a pause
constexpr double kStep = 1, kPause = 0.5, kWork = 0.1;
constexpr size_t kLate = 2;

// One operation a step and rank, behind its longest piece of own work. `pause` by rank and step: its length there.
class LateReturnTest : public ::testing::Test {
 protected:
  std::vector<Verdict> Find(const std::function<double(size_t rank, int32_t step)>& pause) {
    Random random(5);
    trace_ = Trace();
    analysis_ = TraceAnalysis();
    for (size_t host = 0; host < kHosts; ++host) trace_.hosts.push_back("h" + std::to_string(host));
    analysis_.trace = &trace_;
    analysis_.steps.steps = kSteps;
    analysis_.steps.ranks = kRanks;
    analysis_.steps.usual_seconds = kStep;
    analysis_.steps.step_seconds.assign(kSteps, kStep);
    analysis_.steps.usual.assign(kSteps, 1);
    analysis_.profile.ranks = kRanks;
    analysis_.profile.steps = kSteps;
    analysis_.without_begins.assign(kRanks, 0);
    for (size_t rank = 0; rank < kRanks; ++rank) {
      trace_.ranks.push_back({.rank = static_cast<int32_t>(rank), .host = static_cast<int32_t>(rank / kOfHost)});
      for (int32_t step = 0; step < kSteps; ++step) {
        const auto at = static_cast<uint32_t>(analysis_.times.before.size());
        analysis_.steps.ranges.push_back({at, at + 1, true});
        const bool pauses = step % kEvery == 0;
        const double longest = (kWork + (pauses ? pause(rank, step) : 0)) * (1 + 0.01 * random.Gaussian());
        analysis_.times.before.push_back({.seconds = static_cast<float>(longest)});
        analysis_.profile.largest.push_back(pauses ? std::nanf("") : static_cast<float>(longest));
        if (!pauses) continue;
        double& seconds = analysis_.steps.step_seconds[static_cast<size_t>(step)];
        seconds = std::max(seconds, kStep + longest);
        analysis_.steps.usual[static_cast<size_t>(step)] = 0;
      }
    }
    return FindLateReturns(analysis_, {});
  }

  Trace trace_;
  TraceAnalysis analysis_;
};

TEST_F(LateReturnTest, AHostThatComesBackLastFromPausesIsNamedWithWhatThatCosts) {
  const std::vector<Verdict> late =
      Find([](size_t rank, int32_t step) { return kPause + (rank / kOfHost == kLate && step >= 16 ? 0.6 : 0.0); });
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].verdict_class, VerdictClass::kStorageStall);
  EXPECT_EQ(late[0].scope, VerdictScope::kMachine);
  ASSERT_EQ(late[0].culprits.size(), 1u);
  EXPECT_EQ(late[0].culprits[0].host, "h2");
  EXPECT_EQ(late[0].first_step, 16);
  EXPECT_NEAR(late[0].cost.seconds_per_step, 6 * 0.6 / 24, 0.01);
  EXPECT_NEAR(late[0].cost.slowdown_fraction, 6 * 0.6 / (24 + 6 * 1.2), 0.01);
}

TEST_F(LateReturnTest, OneRankOfEachHostMayPauseForAllOfIt) {
  const std::vector<Verdict> late = Find([](size_t rank, int32_t step) {
    return rank % kOfHost != 0 ? 0 : kPause + (rank / kOfHost == kLate && step >= 12 ? 0.6 : 0.0);
  });
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].culprits[0].host, "h2");
}

TEST_F(LateReturnTest, WhoIsLateEachTimeAnotherIsNobody) {
  EXPECT_TRUE(Find([](size_t rank, int32_t step) {
                return kPause + (rank / kOfHost == static_cast<size_t>(step / kEvery) % kHosts ? 0.6 : 0.0);
              }).empty());
}

TEST_F(LateReturnTest, WhatOneRankWritesForAllIsNoPauseOfTheJob) {
  EXPECT_TRUE(Find([](size_t rank, int32_t) { return rank == 9 ? 1.0 : 0.0; }).empty());
}

TEST_F(LateReturnTest, AHostThatPausesAloneIsNamed) {
  const auto pauses_at = [](size_t host) {
    return [host](size_t rank, int32_t step) { return rank / kOfHost == host && step >= 12 ? 1.0 : 0.0; };
  };
  const std::vector<Verdict> late = Find(pauses_at(kLate));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].scope, VerdictScope::kMachine);
  EXPECT_EQ(late[0].culprits[0].host, "h2");
  const std::vector<Verdict> first = Find(pauses_at(0));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].scope, VerdictScope::kSoftware) << "programs let the first replica write for all";
}

TEST_F(LateReturnTest, TheFirstRankThatWritesMoreThanOthersDoesWhatTheProgramSays) {
  const std::vector<Verdict> late = Find([](size_t rank, int32_t) { return kPause + (rank == 0 ? 0.6 : 0.0); });
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].scope, VerdictScope::kSoftware);
  EXPECT_EQ(late[0].advice, Advice::kCheckSoftware);
}

TEST_F(LateReturnTest, AFirstReplicaThatWritesForAllDoesWhatTheProgramSays) {
  // Two ranks, the later of which is now this and now that one. The first pause is a start, and no checkpoint.
  const auto writes = [](size_t rank, int32_t step) {
    const bool is_first = rank < 2 && step >= kEvery;
    return kPause + (is_first ? 0.6 + (static_cast<size_t>(step / kEvery) % 2 == rank ? 0.1 : 0.0) : 0.0);
  };
  const std::vector<Verdict> late = Find(writes);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].scope, VerdictScope::kSoftware);
}

TEST_F(LateReturnTest, AFirstHostOfWhichAllRanksAreLateIsNamed) {
  const std::vector<Verdict> late = Find([](size_t rank, int32_t) { return kPause + (rank < kOfHost ? 0.6 : 0.0); });
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].scope, VerdictScope::kMachine);
}

TEST_F(LateReturnTest, TwoPausesAreTooFew) {
  const auto late = [](size_t rank, int32_t step) {
    return kPause + (rank / kOfHost == kLate && step >= 32 ? 0.6 : 0.0);
  };
  EXPECT_TRUE(Find(late).empty());
}

}  // namespace
}  // namespace lockstep
