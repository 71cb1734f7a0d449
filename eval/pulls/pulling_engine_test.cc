#include "eval/pulls/pulling_engine.h"

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "detector/engine/investigation.h"
#include "detector/verdict/job_report.h"
#include "eval/scoring/episode_score.h"
#include "gtest/gtest.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

constexpr int32_t kGpus = 256;  // in 32 replicas of eight
constexpr int32_t kSlowRank = 77;

Episode WithFault(const FaultSpec& fault) {
  JobSpec job = TypicalJob(kGpus, 3);
  job.parallelism.tensor = 4;
  job.parallelism.pipeline = 2;
  job.parallelism.data = 32;
  job.schedule.steps = 14;
  job.workload.microbatches = 4;
  return Simulate(job, {&fault, 1}, 7);
}

Episode SlowRank() {
  return WithFault({.kind = FaultKind::kComputeSlow, .targets = {kSlowRank}, .onset_step = 1, .severity = 0.5});
}

JobReport Diagnose(const Episode& episode, uint64_t max_bytes, PullCounts* counts) {
  InvestigationOptions options;
  options.max_bytes = max_bytes;
  options.min_scope = 64;
  PullingEngine engine(options);
  JobReport report = engine.Diagnose(episode.evidence, static_cast<double>(episode.truth.step_ns[5]) / kNanosPerSecond);
  *counts = engine.counts();
  return report;
}

TEST(PullingEngineTest, FewUnitsTellWhatEverybodyTells) {
  const Episode episode = SlowRank();
  PullCounts everybody;
  const JobReport all = Diagnose(episode, 1'000'000'000, &everybody);
  EXPECT_TRUE(ScoreReport(all, episode.truth, 0.03).causes[0].top1);
  EXPECT_EQ(everybody.requests, 2u * kGpus / 8);  // one part in each of two rounds
  PullCounts few;
  const uint64_t budget = everybody.bytes / 6;  // of two rounds, packed to less than half, a sixth
  const JobReport report = Diagnose(episode, budget, &few);
  const EpisodeScore score = ScoreReport(report, episode.truth, 0.03);
  EXPECT_TRUE(score.causes[0].top1);
  EXPECT_TRUE(score.accused_wrongly.empty());
  EXPECT_GT(few.requests, everybody.requests);  // of everybody a little, and then of some
  EXPECT_LE(few.bytes, 2 * budget);
  EXPECT_EQ(few.rounds, 2u);
}

// A late host keeps its own data groups waiting and then nobody; a slow adapter makes nobody late, but its group.
TEST(PullingEngineTest, WhatMakesNoReplicaLateIsFoundWithFewBytes) {
  constexpr uint64_t kBudget = 700'000;
  for (const FaultSpec& fault :
       {FaultSpec{.kind = FaultKind::kStorageStall, .targets = {21}, .onset_step = 1, .severity = 0.3},
        FaultSpec{.kind = FaultKind::kNicReceiveSlow, .targets = {kSlowRank}, .onset_step = 1, .severity = 9}}) {
    const Episode episode = WithFault(fault);
    PullCounts counts;
    const EpisodeScore score = ScoreReport(Diagnose(episode, kBudget, &counts), episode.truth, 0.03);
    ASSERT_TRUE(score.causes[0].accusable);
    EXPECT_TRUE(score.causes[0].top1) << InfoOf(fault.kind).name;
    EXPECT_TRUE(score.accused_wrongly.empty()) << InfoOf(fault.kind).name;
    EXPECT_LE(counts.bytes, 2 * kBudget);
    EXPECT_GT(counts.requests, 2u * kGpus / 8) << "not everybody was asked for everything";
  }
}

TEST(PullingEngineTest, WithHardlyAnyBytesItAccusesNobody) {
  const Episode episode = SlowRank();
  PullCounts counts;
  const JobReport report = Diagnose(episode, 20'000, &counts);
  EXPECT_LE(counts.bytes, 40'000u);
  EXPECT_GT(counts.left_out, 0u);
  EXPECT_TRUE(ScoreReport(report, episode.truth, 0.03).accused_wrongly.empty());
}

}  // namespace
}  // namespace lockstep
