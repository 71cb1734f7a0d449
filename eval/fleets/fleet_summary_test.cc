// How outcomes are counted.

#include "eval/fleets/fleet_summary.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/thread_executor.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "eval/fleets/fleet_run.h"
#include "nlohmann/json.hpp"
#include "sim/second/planting.h"
#include "sim/second/truth.h"

namespace lockstep {
namespace {

FleetOutcome OutcomeOf(const char* kind, bool right, int innocents, const char* feature) {
  FleetOutcome outcome;
  outcome.kind = kind;
  outcome.score.right = right;
  outcome.score.innocents = innocents;
  outcome.truth.features = {feature};
  return outcome;
}

TEST(FleetSummaryTest, CountsByKindAndByFeature) {
  const FleetSummary summary =
      SummarizeFleets({OutcomeOf("healthy", true, 0, "sharded"), OutcomeOf("healthy", false, 2, "tensor"),
                       OutcomeOf("pauses", true, 0, "tensor")});
  EXPECT_EQ(summary.all.right.trials, 3);
  EXPECT_EQ(summary.kinds.at("healthy").right.successes, 1);
  EXPECT_EQ(summary.features.at("tensor").right.trials, 2);
  EXPECT_EQ(summary.quiet.innocents, 2);
  EXPECT_EQ(summary.quiet.accusing_episodes, 1);
  ASSERT_EQ(summary.failures.size(), 1u);
  EXPECT_EQ(FleetJson(summary)["failures"][0]["kind"], "healthy");
  EXPECT_FALSE(FleetMeasures(summary).empty());
}

TEST(FleetSummaryTest, ListsWhatHasAnotherClass) {
  FleetOutcome outcome = OutcomeOf("pauses", true, 0, "tensor");
  outcome.score.class_right = false;
  const FleetSummary summary = SummarizeFleets({outcome});
  ASSERT_EQ(summary.failures.size(), 1u);
  EXPECT_EQ(FleetJson(summary)["failures"][0]["class_right"], false);
}

TEST(FleetRunTest, KindsTakeTurns) {
  const size_t kinds = second::EpisodeKinds().size();
  EXPECT_EQ(KindOfNumber(0).name, second::EpisodeKinds()[0].name);
  EXPECT_EQ(KindOfNumber(kinds + 1).name, second::EpisodeKinds()[1].name);
}

TEST(FleetRunTest, OutcomesComeByNumberOnAnyNumberOfThreads) {
  const auto judge = [](const JobEvidence& evidence, const second::Truth&) {
    JobReport report;
    report.state = evidence.trace.operations.empty() ? JobState::kUnknown : JobState::kHealthy;
    return report;
  };
  const auto run = [&](size_t lanes) {
    ThreadExecutor executor(lanes);
    return RunFleets(40, 3, second::FindKind("hang_program"), judge, executor, [](int32_t) {});
  };
  const std::vector<FleetOutcome> one = run(1), two = run(2);
  ASSERT_EQ(one.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(one[i].number, 40 + i);
    EXPECT_EQ(one[i].truth.name, two[i].truth.name);
    EXPECT_TRUE(one[i].score.unsound);
    EXPECT_FALSE(one[i].score.right);
  }
}

}  // namespace
}  // namespace lockstep
