#include "detector/engine/grown_alone.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/engine/diagnosis.h"
#include "detector/engine/time_ledger.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/slow/counterfactual_step.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kHosts = 4, kRanksPerHost = 2, kSteps = 20, kOnset = 10;
constexpr double kWork = 1, kNoise = 0.01;

// Steps become half a second longer at step 10. Ranks work a second each, whatever their duty.
class GrownAloneTest : public ::testing::Test {
 protected:
  GrownAloneTest() {
    trace_.ranks.resize(kHosts * kRanksPerHost);
    for (int32_t rank = 0; rank < kHosts * kRanksPerHost; ++rank) {
      trace_.ranks[static_cast<size_t>(rank)] = {.rank = rank, .host = rank / kRanksPerHost};
    }
    analysis_.trace = &trace_;
    analysis_.steps.steps = kSteps;
    analysis_.steps.usual.assign(kSteps, 1);
    analysis_.profile.ranks = trace_.ranks.size();
    analysis_.profile.steps = kSteps;
    for (size_t i = 0; i < trace_.ranks.size() * kSteps; ++i) {
      analysis_.profile.shared.push_back(static_cast<float>(kWork + kNoise * random_.Gaussian()));
    }
  }

  void Grow(int32_t rank, float seconds, int32_t onset = kOnset) {
    for (int32_t step = onset; step < kSteps; ++step) {
      analysis_.profile.shared[static_cast<size_t>(rank * kSteps + step)] += seconds;
    }
  }

  std::optional<SlowCause> Find() const {
    return FindGrownAlone(analysis_, {.first_step = kOnset, .before_seconds = 2, .after_seconds = 2.5});
  }

  Random random_{3};
  Trace trace_;
  TraceAnalysis analysis_;
};

TEST_F(GrownAloneTest, AHostWhoseRanksAllGrewAloneIsACause) {
  Grow(4, 0.5F);
  Grow(5, 0.45F);
  const std::optional<SlowCause> cause = Find();
  ASSERT_TRUE(cause.has_value());
  EXPECT_TRUE(cause->whole_host);
  EXPECT_EQ(cause->kind, SlowKind::kHost);
  ASSERT_EQ(cause->suspects.size(), 2u);
  EXPECT_EQ(cause->suspects[0].rank, 4);
  EXPECT_NEAR(cause->suspects[0].excess_seconds, 0.5, 0.02);
  EXPECT_NEAR(cause->suspects[0].before_seconds, kWork, 0.02);
  EXPECT_EQ(cause->suspects[0].first_step, kOnset);
}

TEST_F(GrownAloneTest, OneRankIsAGpu) {
  Grow(3, 0.5F);
  const std::optional<SlowCause> cause = Find();
  ASSERT_TRUE(cause.has_value());
  EXPECT_FALSE(cause->whole_host);
  EXPECT_EQ(cause->kind, SlowKind::kCompute);
  EXPECT_EQ(cause->suspects[0].rank, 3);
}

// One waits for the other in operations that nobody recorded: which of them works longer cannot be told.
TEST_F(GrownAloneTest, TwoOfFourRanksAreOfTheirHost) {
  for (TraceRank& rank : trace_.ranks) rank.host /= 2;
  Grow(5, 0.5F);
  Grow(6, 0.45F);
  const std::optional<SlowCause> cause = Find();
  ASSERT_TRUE(cause.has_value());
  EXPECT_TRUE(cause->whole_host);
  EXPECT_EQ(cause->kind, SlowKind::kCompute);
  EXPECT_EQ(cause->suspects.size(), 2u);
}

TEST_F(GrownAloneTest, WhoGrewByLessThanHalfOfTheStrongestIsNotNamedBesideIt) {
  Grow(4, 0.8F);
  Grow(5, 0.35F);
  const std::optional<SlowCause> cause = Find();
  ASSERT_TRUE(cause.has_value());
  EXPECT_FALSE(cause->whole_host);
  EXPECT_EQ(cause->kind, SlowKind::kCompute);
  ASSERT_EQ(cause->suspects.size(), 1u);
  EXPECT_EQ(cause->suspects[0].rank, 4);
}

TEST_F(GrownAloneTest, WhatGrowsOnTwoHostsIsNobodysFault) {
  Grow(3, 0.5F);
  Grow(4, 0.5F);
  EXPECT_FALSE(Find().has_value());
}

TEST_F(GrownAloneTest, WhereTheOthersGrowABitNobodyGrewAlone) {
  Grow(4, 0.5F);
  Grow(5, 0.5F);
  for (const int32_t rank : {0, 1, 2, 3, 6, 7}) Grow(rank, 0.2F);
  EXPECT_FALSE(Find().has_value());
}

TEST_F(GrownAloneTest, NobodyGrewByLessThanHalfOfWhatWasLostNorWithinTheNoise) {
  Grow(4, 0.2F);
  EXPECT_FALSE(Find().has_value());
  for (float& seconds : analysis_.profile.shared) seconds += static_cast<float>(random_.Gaussian());
  Grow(4, 0.3F);
  EXPECT_FALSE(Find().has_value());
}

TEST_F(GrownAloneTest, OfTwoHostsTheOneThatGrewIsIt) {
  for (TraceRank& rank : trace_.ranks) rank.host = rank.host == 2 ? 1 : 0;
  Grow(4, 0.5F);
  Grow(5, 0.5F);
  const std::optional<SlowCause> cause = Find();
  ASSERT_TRUE(cause.has_value());
  EXPECT_TRUE(cause->whole_host);
  EXPECT_EQ(cause->suspects[0].rank / kRanksPerHost, 2);
}

TEST_F(GrownAloneTest, OfOneHostNobodyStaysAsItIs) {
  for (TraceRank& rank : trace_.ranks) rank.host = 0;
  for (int32_t rank = 0; rank < kHosts * kRanksPerHost; ++rank) Grow(rank, 0.5F);
  EXPECT_FALSE(Find().has_value());
}

TEST_F(GrownAloneTest, OfAHostOneRankHasToBeSureAndTheOthersLikely) {
  Grow(4, 0.5F);
  for (int32_t step = kOnset; step < kSteps; ++step) {
    analysis_.profile.shared[static_cast<size_t>(5 * kSteps + step)] += step % 2 == 0 ? 0.2F : 0.8F;
  }
  const std::optional<SlowCause> cause = Find();
  ASSERT_TRUE(cause.has_value());
  EXPECT_TRUE(cause->whole_host);
  for (int32_t step = kOnset; step < kSteps; ++step) {
    analysis_.profile.shared[static_cast<size_t>(4 * kSteps + step)] += step % 2 == 0 ? -0.3F : 0.3F;
  }
  EXPECT_FALSE(Find().has_value()) << "none is sure";
}

// Each host has a duty of its own, as the stages of a pipeline.
TEST_F(GrownAloneTest, TheWorkOfAHostWithoutPeersElsewhereTellsSinceWhen) {
  trace_.hosts.resize(kHosts);
  analysis_.steps.usual_seconds = 2;
  analysis_.roles.class_of_rank.assign(trace_.ranks.size(), 0);
  for (int32_t host = 0; host < kHosts; ++host) {
    std::vector<int32_t>& duty = analysis_.roles.classes.emplace_back();
    for (int32_t i = 0; i < kRanksPerHost; ++i) {
      duty.push_back(kRanksPerHost * host + i);
      analysis_.roles.class_of_rank[static_cast<size_t>(duty.back())] = host;
    }
  }
  EXPECT_FALSE(FindGrownWork(analysis_, 0.03).has_value()) << "nobody works longer";
  Grow(4, 0.2F);
  Grow(5, 0.2F);
  const std::optional<StepShift> shift = FindGrownWork(analysis_, 0.03);
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->first_step, kOnset);
  EXPECT_NEAR(shift->after_seconds - shift->before_seconds, 0.2, 0.03);
  const std::optional<SlowCause> cause = FindGrownAlone(analysis_, *shift);
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->suspects.size(), 2u);
  EXPECT_FALSE(FindGrownWork(analysis_, 0.2).has_value()) << "too little of a step";
  // With peers elsewhere their excess is to tell it.
  for (std::vector<int32_t>& duty : analysis_.roles.classes) duty.clear();
  for (int32_t rank = 0; rank < kHosts * kRanksPerHost; ++rank) analysis_.roles.classes[0].push_back(rank);
  EXPECT_FALSE(FindGrownWork(analysis_, 0.03).has_value());
}

TEST_F(GrownAloneTest, WorkThatGrowsOnAllHostsTellsNothing) {
  trace_.hosts.resize(kHosts);
  analysis_.steps.usual_seconds = 2;
  for (int32_t host = 0; host < kHosts; ++host) {
    analysis_.roles.classes.push_back({kRanksPerHost * host, kRanksPerHost * host + 1});
  }
  for (int32_t rank = 0; rank < kHosts * kRanksPerHost; ++rank) Grow(rank, 0.2F);
  EXPECT_FALSE(FindGrownWork(analysis_, 0.03).has_value());
}

// Every second step since the onset.
TEST_F(GrownAloneTest, InSomeStepsItIsTheHostThatIsSlowInThese) {
  analysis_.steps.step_seconds.assign(kSteps, 2);
  for (int32_t step = kOnset; step < kSteps; step += 2) {
    analysis_.steps.step_seconds[static_cast<size_t>(step)] = 2.5;
    for (const int32_t rank : {4, 5}) analysis_.profile.shared[static_cast<size_t>(rank * kSteps + step)] += 0.5F;
  }
  const StepShift shift{.first_step = kOnset, .before_seconds = 2, .after_seconds = 2.5, .share = 0.5};
  const std::optional<SlowCause> cause = FindGrownAlone(analysis_, shift);
  ASSERT_TRUE(cause.has_value());
  const Suspect& suspect = cause->suspects[0];
  EXPECT_EQ(suspect.rank / kRanksPerHost, 2);
  EXPECT_TRUE(suspect.in_some_steps());
  EXPECT_DOUBLE_EQ(suspect.share_of_steps, 0.5);
  EXPECT_NEAR(ExcessInStep(suspect, analysis_.profile, kOnset), 0.5, 0.05);
  EXPECT_EQ(ExcessInStep(suspect, analysis_.profile, kOnset + 1), 0);
}

TEST_F(GrownAloneTest, WhereAnotherHostIsSlowInEachLongerStepNobodyIs) {
  analysis_.steps.step_seconds.assign(kSteps, 2);
  for (int32_t step = kOnset; step < kSteps; ++step) {
    analysis_.steps.step_seconds[static_cast<size_t>(step)] = 2.5;
    const int32_t rank = step % kHosts * kRanksPerHost;
    for (const int32_t of_host : {rank, rank + 1}) {
      analysis_.profile.shared[static_cast<size_t>(of_host * kSteps + step)] += 0.5F;
    }
  }
  EXPECT_FALSE(Find().has_value());
}

// Hosts of a stage each, as their kinds of calls tell: four in a tensor group on each, and one AllReduce of all.
// Batches differ by so much from step to step that no step is longer than usual; h2 works a fifth longer from the
// middle on.
Trace StagesOfVariedSteps() {
  constexpr int64_t kMilli = 1'000'000;
  constexpr int32_t kLongJob = 48, kCalls = 4;
  constexpr std::array kKinds = {OperationKind::kAllReduce, OperationKind::kAllGather, OperationKind::kReduceScatter,
                                 OperationKind::kBroadcast};
  Random random(5);
  TraceBuilder builder("job");
  std::vector<int32_t> ranks, tensor_of_host;
  const int32_t world = builder.AddCommunicator("world", "", kHosts * kRanksPerHost);
  for (int32_t host = 0; host < kHosts; ++host) {
    tensor_of_host.push_back(builder.AddCommunicator(absl::StrCat("tensor", host), "", kRanksPerHost));
    for (int32_t i = 0; i < kRanksPerHost; ++i) {
      const int32_t rank = host * kRanksPerHost + i;
      ranks.push_back(builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", host))}));
      builder.AddMember(world, rank, ranks.back());
      builder.AddMember(tensor_of_host.back(), i, ranks.back());
    }
  }
  const auto add = [&](int32_t rank, OperationKind kind, int32_t communicator, uint64_t sequence, int64_t start_ns,
                       int64_t end_ns) {
    builder.Add(ranks[static_cast<size_t>(rank)], {.enqueue_ns = start_ns - kMilli / 2,
                                                   .start_ns = start_ns,
                                                   .end_ns = end_ns,
                                                   .sequence = sequence,
                                                   .bytes = 1 << 20,
                                                   .communicator = communicator,
                                                   .kind = kind,
                                                   .quality = TimingQuality::kGpuTimer});
  };
  int64_t begin_ns = kMilli;
  for (int32_t step = 0; step < kLongJob; ++step) {
    const double batch = 1 + 0.12 * random.Gaussian();
    std::vector<int64_t> done_ns;
    for (int32_t host = 0; host < kHosts; ++host) {
      const double longer = host == 2 && step >= kLongJob / 2 ? 1.2 : 1;
      int64_t now_ns = begin_ns;
      for (int32_t call = 0; call < kCalls; ++call) {
        std::vector<int64_t> starts_ns;
        for (int32_t i = 0; i < kRanksPerHost; ++i) {
          const double noise = 1 + 0.01 * random.Gaussian();
          starts_ns.push_back(now_ns + static_cast<int64_t>(100e6 / kCalls * batch * longer * noise));
        }
        now_ns = *std::max_element(starts_ns.begin(), starts_ns.end()) + kMilli;
        for (int32_t i = 0; i < kRanksPerHost; ++i) {
          add(host * kRanksPerHost + i, kKinds[static_cast<size_t>(host)], tensor_of_host[static_cast<size_t>(host)],
              static_cast<uint64_t>(step * kCalls + call), starts_ns[static_cast<size_t>(i)], now_ns);
        }
      }
      done_ns.push_back(now_ns + kMilli);
    }
    const int64_t end_ns = *std::max_element(done_ns.begin(), done_ns.end()) + 5 * kMilli;
    for (int32_t rank = 0; rank < kHosts * kRanksPerHost; ++rank) {
      add(rank, OperationKind::kAllReduce, world, static_cast<uint64_t>(step),
          done_ns[static_cast<size_t>(rank / kRanksPerHost)], end_ns);
    }
    begin_ns = end_ns;
  }
  return builder.Build();
}

TEST(GrownAloneInAJob, WhereStepsVaryAStageIsNamedByWhatItWorksBeyondTheOthers) {
  const Trace trace = StagesOfVariedSteps();
  const JobReport report = Diagnose({.job = "job", .trace = trace}, {});
  std::vector<std::string> accused;
  for (const Verdict& verdict : report.verdicts) {
    for (const Culprit& culprit : verdict.culprits) accused.push_back(culprit.host);
  }
  EXPECT_THAT(accused, ::testing::ElementsAre("h2"));
}

}  // namespace
}  // namespace lockstep
