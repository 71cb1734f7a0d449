#include "detector/engine/seen_pauses.h"

#include <gtest/gtest.h>

#include "detector/engine/standing_findings.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

JobReport Pausing(int64_t first_step) {
  JobReport report;
  Verdict pause = Verdict::Accusation(VerdictScope::kJob, VerdictClass::kPause);
  pause.first_step = first_step;
  pause.last_step = first_step;
  report.verdicts = {Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow), pause};
  return report;
}

LookResult Look(int64_t newest_step, bool judged = true) {
  return {.judged = judged, .verdicts = {}, .short_records = {}, .steps = 20, .newest_step = newest_step};
}

TEST(SeenPausesTest, APauseIsKnownFromTheFirstLookOnInStepsOfTheJob) {
  SeenPauses pauses;
  pauses.Take(Look(100), JobReport());
  EXPECT_FALSE(pauses.newest().has_value());
  pauses.Take(Look(120), Pausing(5));
  ASSERT_TRUE(pauses.newest().has_value());
  EXPECT_EQ(pauses.newest()->first_step, 105);
}

TEST(SeenPausesTest, LooksBetweenTwoPausesForgetNoneForAWhile) {
  SeenPauses pauses;
  pauses.Take(Look(100), Pausing(5));
  for (int i = 1; i < SeenPauses::kMostMisses; ++i) pauses.Take(Look(100 + 20 * i), JobReport());
  pauses.Take(Look(400, /*judged=*/false), JobReport());
  EXPECT_TRUE(pauses.newest().has_value()) << "a look that could not judge missed nothing";
  pauses.Take(Look(420), JobReport());
  EXPECT_FALSE(pauses.newest().has_value());
}

}  // namespace
}  // namespace lockstep
