#include "detector/verdict/abstention.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(AbstentionTest, EveryReasonSaysItsNumbers) {
  const std::pair<AbstentionReason, const char*> cases[] = {
      {NoRecords{}, "There are no operation records to judge."},
      {FewSteps{.steps = 2, .required = 4}, "The records hold 2 whole steps; no judgement is made on fewer than 4."},
      {MissingRanks{.missing = 3, .all = 8},
       "3 of 8 ranks left no records: any of them may be the one that the others wait for."},
      {RanksWithoutTimes{.without = 1, .all = 8},
       "1 of 8 ranks left operations without times: their own work was not judged, the others' was."},
      {LostRecords{.lost = 30, .all = 100}, "30 of 100 records are lost: too many to tell that nothing is wrong."},
      {NoMeeting{}, "No two ranks are known to take part in the same operation: who waits for whom cannot be told."},
      {FewCounters{.machines = 1, .seconds = 30, .required_seconds = 300},
       "Counters of 1 machines over 30 s do not tell how the job fares: that needs at least 2, 300 s and the power or "
       "traffic of GPUs or NICs."},
      {InputNote{"The file was cut."}, "The file was cut."},
  };
  for (const auto& [reason, sentence] : cases) EXPECT_EQ(Sentences(reason), std::vector<std::string>{sentence});
}

TEST(AbstentionTest, AnOpenWaitCountsOtherCausesIfThereAreAny) {
  OpenWait wait{.waiting = 6, .ranks = 8, .waited_for = "rank 2 of node-a"};
  EXPECT_EQ(Sentences(wait).front().find("other causes"), std::string::npos);
  EXPECT_NE(Sentences(wait).front().find("6 of 8 ranks wait for rank 2 of node-a, and"), std::string::npos);
  wait.other_causes = 2;
  EXPECT_NE(Sentences(wait).front().find("node-a (and some for 2 other causes), and"), std::string::npos);
}

TEST(AbstentionTest, SlownessWithoutACauseSaysHowMuchWhoAndWhatWasLookedFor) {
  SlowWithoutCause slow{.first_step = 10,
                        .before_seconds = 1,
                        .after_seconds = 1.25,
                        .unexplained_seconds = 0.25,
                        .error_seconds = 0.01,
                        .ranks = 8};
  ASSERT_EQ(Sentences(slow).size(), 3u);
  EXPECT_EQ(Sentences(slow)[0],
            "Since step 10 steps take 1.25 s instead of 1 s, and 0.25 s of it (20.0 % of a step, error 0.01 s) are not "
            "explained: the job is slow, and the cause is unknown.");
  EXPECT_EQ(Sentences(slow)[1],
            "No rank's own work grew by half of that: it passes in operations, or in waits for them.");
  slow.longer_ranks = 2;
  slow.most_grown = "rank 3 of node-b";
  slow.most_seconds = 0.2;
  EXPECT_EQ(Sentences(slow)[1],
            "Own work of 2 of 8 ranks grew by half of that or more, most on rank 3 of node-b: by 0.2 s.");
}

}  // namespace
}  // namespace lockstep
