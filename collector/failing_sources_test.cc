#include "collector/failing_sources.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

constexpr int64_t kNow = 1'000'000'000'000;

wire::AgentReport Report(const std::string& source, wire::SourceStatus::Outcome outcome, int64_t failing_ns) {
  wire::AgentReport report;
  wire::SourceStatus& status = *report.add_sources();
  status.set_name(source);
  status.set_outcome(outcome);
  status.set_failing_ns(failing_ns);
  status.set_error(std::string(500, 'e'));
  return report;
}

TEST(FailingSourcesTest, HoldWhatAHostSaidLastAndForAMinute) {
  FailingSources sources;
  sources.Observe("node-1", Report("nvml", wire::SourceStatus::OUTCOME_TIMED_OUT, 30), kNow);
  sources.Observe("node-2", Report("made_up", wire::SourceStatus::OUTCOME_FAILED, 7), kNow);
  sources.Observe("node-3", Report("net", wire::SourceStatus::OUTCOME_OK, 0), kNow);
  const auto rows = sources.List(kNow);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].host, "node-1");
  EXPECT_EQ(rows[0].source, "nvml");
  EXPECT_EQ(rows[0].since_wall_ns, kNow - 30);
  EXPECT_TRUE(rows[0].hangs);
  EXPECT_EQ(rows[0].why.size(), FailingSources::kMaxWhyBytes);
  EXPECT_EQ(sources.Count(kNow)[6], 1);
  EXPECT_EQ(sources.Count(kNow).back(), 1) << "a name that this release does not know";
  sources.Observe("node-1", Report("nvml", wire::SourceStatus::OUTCOME_OK, 0), kNow + 1);
  EXPECT_EQ(sources.List(kNow + 1).size(), 1u);
  EXPECT_EQ(sources.List(kNow + FailingSources::kKeepNanos + 1).size(), 0u) << "it has fallen silent";
}

TEST(FailingSourcesTest, AReportThatWaitedTellsOfEarlier) {
  FailingSources sources;
  wire::AgentReport report = Report("nvml", wire::SourceStatus::OUTCOME_FAILED, 30);
  report.set_waited_ns(100);
  sources.Observe("node-1", report, kNow);
  EXPECT_EQ(sources.List(kNow)[0].since_wall_ns, kNow - 130);
}

TEST(FailingSourcesTest, IsBoundedAndCountsWhatDoesNotFit) {
  FailingSources sources;
  const wire::AgentReport report = Report("nvml", wire::SourceStatus::OUTCOME_FAILED, 30);
  for (size_t i = 0; i < FailingSources::kMaxRows + 3; ++i) sources.Observe(std::to_string(i), report, kNow);
  EXPECT_EQ(sources.List(kNow).size(), FailingSources::kMaxRows);
  EXPECT_EQ(sources.TakeRefused(), 3u);
  sources.ForgetSilent(kNow + FailingSources::kKeepNanos + 1);
  sources.Observe("new", report, kNow + FailingSources::kKeepNanos + 1);
  EXPECT_EQ(sources.List(kNow + FailingSources::kKeepNanos + 1).size(), 1u);
}

}  // namespace
}  // namespace lockstep
