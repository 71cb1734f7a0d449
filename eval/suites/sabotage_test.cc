// The evaluation must be able to fail: an engine that is broken on purpose has to look broken.

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/testing/sim_clock.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/job_evidence.h"
#include "eval/report/measures.h"
#include "eval/report/suite_summary.h"
#include "eval/suites/suite.h"
#include "eval/suites/suite_run.h"
#include "gtest/gtest.h"
#include "sim/fault_choice.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

constexpr int32_t kEpisodes = 10;

EpisodePlan SlowRank(uint64_t, Random& random) {
  EpisodePlan plan;
  plan.job = TypicalJob(32, 3);
  plan.job.schedule.steps = 12;
  plan.faults = {RandomFault(FaultKind::kComputeSlow, 1, plan.job, random)};
  plan.faults[0].severity = 0.3 + 0.3 * random.Unit();
  return plan;
}

SuiteSummary SummaryOf(const DiagnosisOptions& options) {
  Suite suite = *FindSuite("localize-2048");
  suite.baseline_every = 0;
  suite.plan = SlowRank;
  const SimClock clock;
  const auto engine = [&](const JobEvidence& evidence) { return Diagnose(evidence, options); };
  return Summarize(suite, RunSuite(suite, 0, kEpisodes, 1, engine, {}, clock, {}));
}

TEST(SabotageTest, WithTheSignOfLatenessFlippedTheFiguresCollapse) {
  const SuiteSummary intact = SummaryOf({});
  DiagnosisOptions sabotaged;
  sabotaged.sabotage_lateness_sign = true;
  const SuiteSummary broken = SummaryOf(sabotaged);
  ASSERT_GE(intact.top1.trials, kEpisodes - 2) << "most of these faults are dear enough to be accused";
  EXPECT_GE(intact.top1.share(), 0.8);
  EXPECT_LE(broken.top1.share(), 0.3);
  EXPECT_FALSE(MeasuresOf({broken})[0].met);
  EXPECT_GT(broken.failures.listed.size(), intact.failures.listed.size());
}

}  // namespace
}  // namespace lockstep
