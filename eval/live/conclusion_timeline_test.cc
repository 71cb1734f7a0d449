#include "eval/live/conclusion_timeline.h"

#include "gtest/gtest.h"

namespace lockstep {
namespace {

JobEngine::Conclusion Saying(std::vector<int32_t> slow_ranks, bool can_conclude = true) {
  JobEngine::Conclusion conclusion;
  conclusion.can_conclude = can_conclude;
  for (const int32_t rank : slow_ranks) {
    Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
    verdict.culprits = {{.host = "node-0", .rank = rank}};
    conclusion.verdicts.push_back(verdict);
  }
  return conclusion;
}

TEST(ConclusionTimelineTest, ACauseAppearsAndVanishes) {
  ConclusionTimeline timeline;
  timeline.Add(10, Saying({}), {});
  timeline.Add(20, Saying({3}), {});
  timeline.Add(30, Saying({3, 5}), {});
  timeline.Add(40, Saying({5}), {});
  timeline.Add(50, Saying({3, 5}), {});
  ASSERT_EQ(timeline.spells().size(), 3u);
  EXPECT_EQ(timeline.spells()[0].appeared_ns, 20);
  EXPECT_EQ(timeline.spells()[0].vanished_ns, 40);
  EXPECT_EQ(timeline.spells()[1].appeared_ns, 30);
  EXPECT_EQ(timeline.spells()[1].vanished_ns, CauseSpell::kStays);
  EXPECT_EQ(timeline.spells()[2].key, timeline.spells()[0].key);
  EXPECT_EQ(timeline.spells()[2].appeared_ns, 50);
}

TEST(ConclusionTimelineTest, MissingDataEndsNothing) {
  ConclusionTimeline timeline;
  timeline.Add(10, Saying({3}), {});
  timeline.Add(20, Saying({}, /*can_conclude=*/false), {});
  EXPECT_EQ(timeline.spells()[0].vanished_ns, CauseSpell::kStays);
  timeline.Add(30, Saying({}), {});
  EXPECT_EQ(timeline.spells()[0].vanished_ns, 30);
}

TEST(ConclusionTimelineTest, StatesAreKeptWhenTheyChange) {
  ConclusionTimeline timeline;
  JobSummary summary;
  timeline.Add(10, Saying({}), summary);
  timeline.Add(20, Saying({}), summary);
  summary.state = JobState::kSlow;
  timeline.Add(30, Saying({}), summary);
  ASSERT_EQ(timeline.states().size(), 2u);
  EXPECT_EQ(timeline.states()[1].at_ns, 30);
  EXPECT_EQ(timeline.states()[1].state, JobState::kSlow);
}

}  // namespace
}  // namespace lockstep
