#include "eval/live/live_judge.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "detector/engine/job_engine.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "eval/fleets/fleet_run.h"
#include "eval/live/conclusion_timeline.h"
#include "gtest/gtest.h"
#include "sim/second/planting.h"
#include "sim/second/truth.h"

namespace lockstep {
namespace {

Verdict SlowRank(int32_t rank, VerdictClass verdict_class = VerdictClass::kComputeSlow) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, verdict_class);
  verdict.culprits = {{.host = "node-1", .rank = rank}};
  if (rank > 7) verdict.culprits[0].host = "node-2";
  return verdict;
}

JobEngine::Conclusion Concluding(std::vector<Verdict> verdicts) {
  JobEngine::Conclusion conclusion;
  conclusion.verdicts = std::move(verdicts);
  conclusion.can_conclude = true;
  return conclusion;
}

TEST(LiveJudgeTest, WhoeverWasEverAccusedIsAccusedAndTheLastWordAboutHimCounts) {
  ConclusionTimeline timeline;
  timeline.Add(1, Concluding({SlowRank(3)}), {});
  timeline.Add(2, Concluding({SlowRank(9)}), {});
  timeline.Add(3, Concluding({SlowRank(3, VerdictClass::kStorageStall)}), {});
  JobReport last;
  last.verdicts = {SlowRank(3, VerdictClass::kStorageStall)};
  const JobReport told = EverTold(timeline, last);
  ASSERT_EQ(told.verdicts.size(), 2u);
  EXPECT_EQ(told.verdicts[0].verdict_class, VerdictClass::kStorageStall);
  EXPECT_EQ(told.verdicts[1].culprits[0].rank, 9);
}

TEST(LiveJudgeTest, EpisodesThatAreJudgedRightAsFilesAreJudgedRightLive) {
  const FleetJudge live = [](const JobEvidence& evidence, const second::Truth& truth) {
    return *JudgeLive(AsAgentsSee(evidence, truth), {}, nullptr);
  };
  for (const char* const kind : {"healthy", "compute", "hang_program"}) {
    const FleetOutcome outcome = RunFleetEpisode(1, *second::FindKind(kind), live);
    EXPECT_TRUE(outcome.score.right) << kind << ": " << outcome.answer;
  }
}

// Agents see that a process is gone, and that the job pauses, which is nothing to be called for.
TEST(LiveJudgeTest, WhatAgentsSeeAndWhatIsOnlyRemarkedIsTold) {
  const FleetJudge live = [](const JobEvidence& evidence, const second::Truth& truth) {
    return *JudgeLive(AsAgentsSee(evidence, truth), {}, nullptr);
  };
  for (const auto& [kind, number] : {std::pair("dead_process", 90), std::pair("pauses", 24)}) {
    const FleetOutcome outcome = RunFleetEpisode(static_cast<uint64_t>(number), *second::FindKind(kind), live);
    EXPECT_EQ(outcome.score.class_right, true) << kind << ": " << outcome.answer;
  }
}

TEST(LiveJudgeTest, TheSameRecordingGivesTheSameTimeline) {
  std::vector<size_t> spells;
  for (int run = 0; run < 2; ++run) {
    ConclusionTimeline timeline;
    const FleetJudge live = [&](const JobEvidence& evidence, const second::Truth&) {
      return *JudgeLive(evidence, {}, &timeline);
    };
    RunFleetEpisode(1, *second::FindKind("compute"), live);
    ASSERT_FALSE(timeline.spells().empty());
    spells.push_back(static_cast<size_t>(timeline.spells()[0].appeared_ns));
  }
  EXPECT_EQ(spells[0], spells[1]);
}

}  // namespace
}  // namespace lockstep
