#include "collector/convert/report_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/status_matchers.h"
#include "collector/convert/report_limits.h"
#include "collector/testing/report_builder.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

wire::AgentReport ReportOfJobs(const std::vector<std::string>& jobs) {
  wire::AgentReport report = MakeHostReport(3, 0.5);
  for (const std::string& job : jobs) {
    wire::ProcessReport& process = *report.add_processes();
    process.set_job(job);
    process.set_rank(report.processes_size() - 1);
  }
  return report;
}

TEST(ReportSplitTest, AHostWithoutAJobBelongsToTheNamelessJob) {
  const auto inputs = SplitReport("node-1", 9, MakeHostReport(3, 0.5));
  ASSERT_OK(inputs);
  ASSERT_EQ(inputs->size(), 1u);
  EXPECT_EQ((*inputs)[0].job(), "");
  EXPECT_EQ((*inputs)[0].host(), "node-1");
  EXPECT_EQ((*inputs)[0].incarnation(), 9u);
  EXPECT_EQ((*inputs)[0].report().sequence(), 3u);
  EXPECT_EQ((*inputs)[0].report().metrics_size(), 1);
}

TEST(ReportSplitTest, OneJobKeepsTheWholeReport) {
  const wire::AgentReport report = ReportOfJobs({"a", "a"});
  const auto inputs = SplitReport("node-1", 9, report);
  ASSERT_OK(inputs);
  ASSERT_EQ(inputs->size(), 1u);
  EXPECT_EQ((*inputs)[0].report().SerializeAsString(), report.SerializeAsString());
}

TEST(ReportSplitTest, EachJobGetsItsProcessesAndAllOfTheHost) {
  const auto inputs = SplitReport("node-1", 9, ReportOfJobs({"b", "a", "b"}));
  ASSERT_OK(inputs);
  ASSERT_EQ(inputs->size(), 2u);
  EXPECT_EQ((*inputs)[0].job(), "b");
  ASSERT_EQ((*inputs)[0].report().processes_size(), 2);
  EXPECT_EQ((*inputs)[0].report().processes(1).rank(), 2);
  EXPECT_EQ((*inputs)[1].job(), "a");
  ASSERT_EQ((*inputs)[1].report().processes_size(), 1);
  EXPECT_EQ((*inputs)[1].report().processes(0).rank(), 1);
  for (const wire::CaptureInput& input : *inputs) EXPECT_EQ(input.report().metrics_size(), 1);
}

TEST(ReportSplitTest, WhatRasSaysGoesToTheJobOfTheCommunicator) {
  wire::AgentReport report = ReportOfJobs({"a", "b"});
  report.mutable_processes(0)->add_communicators()->set_id(7);
  report.mutable_processes(1)->add_communicators()->set_id(8);
  report.mutable_nccl_ras()->add_findings()->set_id(8);
  const auto inputs = SplitReport("node-1", 9, report);
  ASSERT_OK(inputs);
  EXPECT_FALSE((*inputs)[0].report().has_nccl_ras());
  EXPECT_TRUE((*inputs)[1].report().has_nccl_ras());
}

TEST(ReportSplitTest, TooManyJobsAreRefused) {
  std::vector<std::string> jobs;
  for (int i = 0; i <= kMaxJobsPerReport; ++i) jobs.push_back("job-" + std::to_string(i));
  EXPECT_THAT(SplitReport("node-1", 9, ReportOfJobs(jobs)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 64 jobs")));
}

}  // namespace
}  // namespace lockstep
