// What findings cost together, where nothing but replays says what a step would take.

#include "detector/engine/remedies.h"

#include <cstddef>
#include <cstdint>

#include "detector/engine/diagnosis.h"
#include "detector/model/trace.h"
#include "detector/testing/meeting_job.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(RemediesTest, WithoutAPastTwoThatHideBehindOneAnotherCostWhatBothGiveBack) {
  const Trace trace = TraceOf({}, [](int32_t rank, int32_t /*step*/) {
    return 80 + (rank == 4 ? 30 : rank == 9 ? 25 : 0);
  });
  DiagnosisOptions options;
  options.remedies = true;
  const JobReport report = Diagnose({.job = "job", .trace = trace}, options);
  double cost_seconds = 0, hidden_share = 0;
  size_t accused = 0;
  for (const Verdict& verdict : report.verdicts) {
    if (!AccusesNode(verdict)) continue;
    ++accused;
    cost_seconds += verdict.cost.seconds_per_step;
    hidden_share += verdict.cost.hidden_fraction;
  }
  EXPECT_EQ(accused, 2u);
  EXPECT_NEAR(cost_seconds, 0.005, 0.002) << "removing the slower one alone gives back 5 ms, and both 30";
  EXPECT_NEAR(hidden_share * report.ledger.measured_seconds, 0.025, 0.003);
  EXPECT_NEAR(report.ledger.reference_seconds, 0.085, 0.003);
  ASSERT_EQ(report.remedies.size(), 2u);
  EXPECT_NEAR(report.remedies[0].alone_seconds, 0.005, 0.002);
  EXPECT_NEAR(report.remedies[1].together_seconds, 0.030, 0.003);
}

}  // namespace
}  // namespace lockstep
