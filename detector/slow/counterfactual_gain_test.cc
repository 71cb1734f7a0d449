// Costs where collectives run beside the work: buckets of gradients, reduced while the backward pass goes on.

#include "detector/slow/counterfactual_gain.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"
#include "detector/slow/persistent_excess.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/trace_analysis.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kRanks = 8, kSteps = 14, kBuckets = 4, kSlowRank = 3, kOnset = 6;
constexpr double kForward = 0.04, kBucket = 0.02, kTransfer = 0.0005, kSlowFactor = 1.3, kMinCost = 0.03;
constexpr double kLongTransfer = 1.1 * kBucket;  // buckets stand in line

int64_t Nanos(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

struct Circumstances {
  int32_t onset = kOnset;
  double transfer = kTransfer;
  bool last_is_silent = false;  // the last rank leaves no records
};

Trace Play(const std::vector<int32_t>& slow_ranks, const Circumstances& circumstances = {}) {
  Random random(1);
  TraceBuilder builder("job");
  std::vector<int32_t> handles;
  const int32_t group = builder.AddCommunicator("dp", "", kRanks);
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    handles.push_back(builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank / 2))}));
    builder.AddMember(group, rank, handles.back());
  }
  std::vector<double> now(kRanks, 1), work(kRanks), called(kRanks), start(kRanks);
  uint64_t sequence = 0;
  for (int32_t step = 0; step < kSteps; ++step) {
    double end = 0;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const bool slow = step >= circumstances.onset && std::count(slow_ranks.begin(), slow_ranks.end(), rank) > 0;
      work[rank] = (slow ? kSlowFactor : 1) * (1 + 0.005 * random.Gaussian());
      called[rank] = now[rank] + kForward * work[rank];
    }
    for (int32_t bucket = 0; bucket < kBuckets; ++bucket, ++sequence) {
      for (size_t rank = 0; rank < kRanks; ++rank) {
        called[rank] += kBucket * work[rank];
        start[rank] = std::max(called[rank], end);
      }
      end = *std::max_element(start.begin(), start.end()) + circumstances.transfer;
      for (size_t rank = 0; rank < kRanks; ++rank) {
        if (circumstances.last_is_silent && rank + 1 == kRanks) continue;
        builder.Add(handles[rank], {.enqueue_ns = Nanos(called[rank]),
                                    .start_ns = Nanos(start[rank]),
                                    .end_ns = Nanos(end),
                                    .sequence = sequence,
                                    .bytes = bucket + 1 < kBuckets ? 25'000'000U : 4'000'000U,
                                    .communicator = group,
                                    .kind = OperationKind::kAllReduce});
      }
    }
    for (double& time : now) time = end;
  }
  return builder.Build();
}

TEST(CounterfactualGainTest, PeersThatWaitBesideTheirWorkDoNotMakeTheCulpritDearer) {
  const Trace trace = Play({kSlowRank});
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  const std::vector<Suspect> suspects = FindPersistentExcess(analysis.profile, analysis.roles, analysis.steps, {});
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].rank, kSlowRank);
  EXPECT_EQ(suspects[0].first_step, kOnset);
  const std::vector<CounterfactualGain> gains =
      GainsOf(analysis, GroupSuspects(trace, analysis.roles, analysis.profile, suspects), {}, kMinCost).of_ranks;
  const double healthy = kForward + kBuckets * kBucket;
  EXPECT_NEAR(gains[0].seconds_per_step, (kSlowFactor - 1) * healthy, 0.1 * (kSlowFactor - 1) * healthy);
}

// Without a past, nothing else tells a cost.
TEST(CounterfactualGainTest, AReplayThatTakesLongerThanTheStepDidTellsNoCost) {
  const Trace trace = Play({kSlowRank}, {.onset = 0});
  TraceAnalysis analysis = AnalyseTrace(trace, false);
  const std::vector<Suspect> suspects = FindPersistentExcess(analysis.profile, analysis.roles, analysis.steps, {});
  ASSERT_EQ(suspects.size(), 1u);
  const std::vector<SlowCause> causes = GroupSuspects(trace, analysis.roles, analysis.profile, suspects);
  EXPECT_GT(GainsOf(analysis, causes, {}, kMinCost).of_ranks[0].slowdown(), kMinCost);
  for (double& seconds : analysis.steps.step_seconds) seconds *= 0.8;
  const CounterfactualGain gain = GainsOf(analysis, causes, {}, kMinCost).of_ranks[0];
  EXPECT_EQ(gain.seconds_per_step, 0);
  EXPECT_FALSE(gain.replayed);
}

// Missing records hide who waited for whom, and what peers do beside a collective that they wait in leaves no trace:
// then the excess over them is larger than what the culprit costs.
TEST(CounterfactualGainTest, WhereRecordsAreMissingNobodyGainsMoreThanHeWaited) {
  const Trace trace = Play({kSlowRank}, {.onset = 0, .transfer = kLongTransfer, .last_is_silent = true});
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  const double own = kSlowFactor * (kForward + kBuckets * kBucket);
  const std::vector<Suspect> suspects = {{.rank = kSlowRank,
                                          .first_step = 0,
                                          .last_step = kSteps - 1,
                                          .steps = kSteps,
                                          .excess_seconds = own - kForward - kBucket,
                                          .own_seconds = own,
                                          .share_of_steps = 1}};
  const std::vector<CounterfactualGain> gains =
      GainsOf(analysis, GroupSuspects(trace, analysis.roles, analysis.profile, suspects), {}, kMinCost).of_ranks;
  const double late_at_first = (kSlowFactor - 1) * (kForward + kBucket);
  const double late_at_others = (kBuckets - 1) * (kSlowFactor * kBucket - kLongTransfer);
  EXPECT_LT(gains[0].seconds_per_step, 1.2 * (late_at_first + late_at_others));
  EXPECT_GT(gains[0].seconds_per_step, 0.5 * (late_at_first + late_at_others));
}

// Two ranks became slow at once, and the first three steps of it are lost of the second. It is slow in them all the
// same: taken for healthy there, it would let the first one seem to cost nothing.
TEST(CounterfactualGainTest, WhatMayBeThereInLostStepsIsRemovedWithTheOthers) {
  constexpr int32_t kLost = 3;
  const Trace trace = Play({kSlowRank, kSlowRank + 3});
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  std::vector<Suspect> suspects = FindPersistentExcess(analysis.profile, analysis.roles, analysis.steps, {});
  ASSERT_EQ(suspects.size(), 2u);
  suspects[1].first_step += kLost;
  suspects[1].unknown_before = kLost;
  const std::vector<CounterfactualGain> gains =
      GainsOf(analysis, GroupSuspects(trace, analysis.roles, analysis.profile, suspects), {}, kMinCost).of_ranks;
  const double healthy = kForward + kBuckets * kBucket;
  for (const CounterfactualGain& gain : gains) {
    EXPECT_NEAR(gain.seconds_per_step, (kSlowFactor - 1) * healthy, 0.15 * (kSlowFactor - 1) * healthy);
  }
}

// Half of what the first rank needs more is not removed. What the second one costs is a share of the step that there
// was before, not of one that is still slow.
TEST(CounterfactualGainTest, AStepWithOneAilmentIsNoLongerThanOneBeforeAllOfThemAndItsCost) {
  const Trace trace = Play({kSlowRank, kSlowRank + 3});
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  std::vector<Suspect> suspects = FindPersistentExcess(analysis.profile, analysis.roles, analysis.steps, {});
  ASSERT_EQ(suspects.size(), 2u);
  std::vector<SlowCause> causes = GroupSuspects(trace, analysis.roles, analysis.profile, suspects);
  ASSERT_EQ(causes.size(), 2u);
  causes[0].suspects[0].excess_seconds /= 2;
  const CounterfactualGain gain = GainsOf(analysis, causes, {}, kMinCost).of_ranks[1];
  const double before = analysis.steps.step_seconds[kOnset - 1];
  EXPECT_GT(gain.seconds_per_step, 0.1 * before);
  EXPECT_NEAR(gain.step_seconds, before + gain.seconds_per_step, 0.02 * before);
}

// Two ranks on two hosts that meet once per step. The first is slow by 20 ms; in two of three steps the second loads
// its data for 18 ms, so that the slow one costs 2 ms there.
TEST(CounterfactualGainTest, IsTheMeanOverStepsInWhichTheCauseHidesAndSuchInWhichItDoesNot) {
  constexpr int32_t kAll = 31;
  TraceBuilder builder("job");
  const int32_t group = builder.AddCommunicator("dp", "", 2);
  std::vector<int32_t> handles;
  for (int32_t rank = 0; rank < 2; ++rank) {
    handles.push_back(builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank))}));
    builder.AddMember(group, rank, handles.back());
  }
  double now = 1, cost = 0;
  for (int32_t step = 0; step < kAll; ++step) {
    const double first = now + 0.1 + 0.02, second = now + 0.1 + (step % 3 == 0 ? 0 : 0.018);
    for (const double start : {first, second}) {
      builder.Add(handles[start == first ? 0 : 1], {.enqueue_ns = Nanos(start),
                                                    .start_ns = Nanos(start),
                                                    .end_ns = Nanos(first + kTransfer),
                                                    .sequence = static_cast<uint64_t>(step),
                                                    .bytes = 4096,
                                                    .communicator = group,
                                                    .kind = OperationKind::kAllReduce});
    }
    now = first + kTransfer;
    if (step > 0) cost += (step % 3 == 0 ? 0.02 : 0.002) / (kAll - 1);
  }
  const Trace trace = builder.Build();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  SlowCause cause;
  cause.suspects = {{.rank = 0,
                     .first_step = 1,
                     .last_step = analysis.steps.steps - 1,
                     .excess_seconds = 0.02,
                     .own_seconds = 0.12,
                     .share_of_steps = 1}};
  // So near to the limit that nothing less than all steps settles it.
  const CounterfactualGain gain = GainsOf(analysis, {cause}, {}, cost / 0.1205).of_ranks[0];
  EXPECT_TRUE(gain.replayed);
  EXPECT_NEAR(gain.seconds_per_step, cost, 0.02 * cost);
}

// Where records are missing the replay still tells what transfers cost, and no excess stands in for it.
TEST(CounterfactualGainTest, TransfersCostWhatTheReplaySaysThoughRecordsAreMissing) {
  constexpr double kRatio = 2, kExcess = 1;
  const Trace trace = Play({}, {.transfer = kLongTransfer, .last_is_silent = true});
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  const std::vector<SlowTransfers> transfers = {
      {.channels = {{.channel = 0, .ratio = kRatio}}, .excess_seconds = kExcess}};
  const CounterfactualGain gain = GainsOf(analysis, {}, transfers, kMinCost).of_transfers.at(0);
  EXPECT_GT(gain.seconds_per_step, 0);
  EXPECT_LT(gain.seconds_per_step, 1.1 * kBuckets * kLongTransfer * (1 - 1 / kRatio));
  EXPECT_TRUE(gain.replayed);
}

// Two ranks that meet once per step; in every third step from the tenth on the transfer takes five times as long.
TEST(CounterfactualGainTest, TransfersThatAreSlowAtTimesAreRemovedInThoseSteps) {
  constexpr int32_t kAll = 31, kFirst = 10, kEvery = 3;
  constexpr double kWork = 0.1, kUsual = 0.01, kRatio = 5;
  TraceBuilder builder("job");
  const int32_t group = builder.AddCommunicator("dp", "", 2);
  std::vector<int32_t> handles;
  for (int32_t rank = 0; rank < 2; ++rank) {
    handles.push_back(builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank))}));
    builder.AddMember(group, rank, handles.back());
  }
  std::vector<char> slow(kAll, 0);
  for (size_t step = kFirst; step < kAll; step += kEvery) slow[step] = 1;
  double now = 1;
  for (int32_t step = 0; step < kAll; ++step) {
    const double start = now + kWork;
    now = start + kUsual * (slow[static_cast<size_t>(step)] != 0 ? kRatio : 1);
    for (const int32_t handle : handles) {
      builder.Add(handle, {.enqueue_ns = Nanos(start),
                           .start_ns = Nanos(start),
                           .end_ns = Nanos(now),
                           .sequence = static_cast<uint64_t>(step),
                           .bytes = 4096,
                           .communicator = group,
                           .kind = OperationKind::kAllReduce});
    }
  }
  const Trace trace = builder.Build();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  ASSERT_EQ(analysis.steps.steps, kAll);
  const std::vector<SlowTransfers> transfers = {
      {.channels = {{.channel = 0, .first_step = kFirst, .ratio = kRatio}}, .first_step = kFirst, .in_step = slow}};
  const CounterfactualGain gain = GainsOf(analysis, {}, transfers, kMinCost).of_transfers.at(0);
  EXPECT_NEAR(gain.steps_affected, 1.0 / kEvery, 0.05);
  EXPECT_NEAR(gain.seconds_per_step, kUsual * (kRatio - 1), 0.1 * kUsual * (kRatio - 1));
  EXPECT_NEAR(gain.step_seconds, kWork + kUsual * kRatio, 0.1 * kWork);
  EXPECT_NEAR(gain.other_seconds, kWork + kUsual, 0.01 * kWork);
  const double lost = kUsual * (kRatio - 1) / kEvery;
  EXPECT_NEAR(gain.slowdown(), lost / (kWork + kUsual + lost), 0.01) << "of the mean step";
}

// Ranks work 10 ms, meet, work 90 ms and meet again; one stalls for 30 ms before the first of them. Were it taken off
// both of its pieces of work alike, the others would have 90 ms to do all the same.
TEST(CounterfactualGainTest, AStallIsTakenOffWhereItIs) {
  constexpr double kShort = 0.01, kLong = 0.09, kStall = 0.03;
  Random random(3);
  TraceBuilder builder("job");
  const int32_t group = builder.AddCommunicator("dp", "", kRanks);
  std::vector<int32_t> handles;
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    handles.push_back(builder.AddRank({.rank = rank, .host = builder.AddHost(absl::StrCat("h", rank))}));
    builder.AddMember(group, rank, handles.back());
  }
  double now = 1;
  for (int32_t call = 0; call < 2 * kSteps; ++call) {
    const bool first = call % 2 == 0, stalls = first && call >= 2 * kOnset;
    std::vector<double> starts;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const double work = (first ? kShort : kLong) * (1 + 0.005 * random.Gaussian());
      starts.push_back(now + work + (stalls && rank == kSlowRank ? kStall : 0));
    }
    now = *std::max_element(starts.begin(), starts.end()) + kTransfer;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      builder.Add(handles[rank], {.enqueue_ns = Nanos(starts[rank]),
                                  .start_ns = Nanos(starts[rank]),
                                  .end_ns = Nanos(now),
                                  .sequence = static_cast<uint64_t>(call),
                                  .bytes = first ? 4'000'000U : 25'000'000U,
                                  .communicator = group,
                                  .kind = OperationKind::kAllReduce});
    }
  }
  const Trace trace = builder.Build();
  const TraceAnalysis analysis = AnalyseTrace(trace, false);
  const std::vector<Suspect> suspects = FindPersistentExcess(analysis.profile, analysis.roles, analysis.steps, {});
  ASSERT_EQ(suspects.size(), 1u);
  const std::vector<SlowCause> causes = GroupSuspects(trace, analysis.roles, analysis.profile, suspects);
  EXPECT_NEAR(GainsOf(analysis, causes, {}, kMinCost).of_ranks[0].seconds_per_step, kStall, 0.1 * kStall);
}

TEST(CounterfactualGainTest, IsAShareOfTheMeanStepSinceTheOnset) {
  CounterfactualGain gain{.seconds_per_step = 1, .step_seconds = 2, .other_seconds = 1, .steps_affected = 0.25};
  EXPECT_DOUBLE_EQ(gain.slowdown(), 0.25 / 1.25);
  gain.other_seconds = 0;
  EXPECT_DOUBLE_EQ(gain.slowdown(), 0.25 / 2) << "no other step is known";
}

}  // namespace
}  // namespace lockstep
