#include "cli/render/report_text.h"

#include <string>

#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JobReport Report(JobState state) {
  JobReport report;
  report.job = "job-1";
  report.ranks = 16;
  report.hosts = 2;
  report.steps = 20;
  report.step_seconds_median = 0.3;
  report.completeness.records = 640;
  report.state = state;
  return report;
}

TEST(ReportTextTest, TellsWhoWhatWhyAndWhatToDo) {
  JobReport report = Report(JobState::kSlow);
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits = {{.host = "node-1", .rank = 9, .gpu = 1, .confidence = 0.97}};
  verdict.first_step = 4;
  verdict.last_step = 19;
  verdict.cost = {.slowdown_fraction = 0.25, .seconds_per_step = 0.075, .steps_affected_fraction = 1};
  verdict.evidence = {{EvidenceKind::kLateness, InputNote{"It is late."}},
                      {EvidenceKind::kWhatIf, InputNote{"It would be quicker."}}};
  verdict.advice = Advice::kCordonAndReplace;
  report.verdicts = {verdict};
  EXPECT_EQ(ReportText(report),
            "job-1: SLOW\n"
            "  16 ranks on 2 hosts, 20 steps of 300 ms (median)\n"
            "  640 records\n"
            "\n"
            "  1. compute slow (machine), steps 4 to 19\n"
            "     who:    node-1, rank 9, gpu 1 (97 % sure)\n"
            "     cost:   25 % of the step time, 75 ms per step, in 100 % of the steps\n"
            "     why:    It is late.\n"
            "             It would be quicker.\n"
            "     advice: cordon and replace\n");
}

TEST(ReportTextTest, AHealthyJobHasNothingToTell) {
  EXPECT_THAT(ReportText(Report(JobState::kHealthy)), HasSubstr("nothing is wrong"));
}

TEST(ReportTextTest, AnAbstentionIsNoFinding) {
  JobReport report = Report(JobState::kUnknown);
  report.hosts = 0;
  report.verdicts = {Verdict::Abstention(InputNote{"Too few steps."})};
  report.verdicts[0].Add(InputNote{"No groups."});
  const std::string text = ReportText(report);
  EXPECT_THAT(text, HasSubstr("job-1: UNKNOWN\n  16 ranks, 20 steps"));
  EXPECT_THAT(text, HasSubstr("  not judged: Too few steps.\n              No groups.\n"));
  EXPECT_THAT(text, Not(HasSubstr("1.")));
  EXPECT_THAT(text, Not(HasSubstr("advice")));
}

TEST(ReportTextTest, WhatOthersHideIsSaidBesideTheCost) {
  JobReport report = Report(JobState::kSlow);
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.cost = {.seconds_per_step = 0, .steps_affected_fraction = 1, .hidden_fraction = 0.12};
  report.verdicts = {verdict};
  EXPECT_THAT(ReportText(report), HasSubstr("in 100 % of the steps; 12 % more is hidden by other findings\n"));
}

TEST(ReportTextTest, AHangCostsEverything) {
  JobReport report = Report(JobState::kHung);
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kHangNotEntered);
  verdict.culprits = {{.rank = 9, .confidence = 0.97}};
  verdict.cost = {.slowdown_fraction = 1, .steps_affected_fraction = 1};
  report.verdicts = {verdict};
  EXPECT_THAT(ReportText(report), HasSubstr("cost:   everything: the job stands still\n"));
}

}  // namespace
}  // namespace lockstep
