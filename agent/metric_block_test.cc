#include "agent/metric_block.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/testing/report_view.h"
#include "base/metric_catalog.h"
#include "proto/telemetry.pb.h"

namespace lockstep {
namespace {

TEST(MetricBlockTest, PutsTheSamplesOfADeviceTogether) {
  wire::AgentReport report;
  MetricBlockBuilder block(report, "eth0", 7);
  block.Add(Metric::kNetUp, 1);
  block.Add(Metric::kNetReceiveBytesTotal, 2);
  ASSERT_EQ(report.metrics_size(), 1);
  EXPECT_EQ(report.metrics(0).monotonic_ns(), 7);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetUp), 1);
  EXPECT_EQ(ValueOf(report, "eth0", Metric::kNetReceiveBytesTotal), 2);
}

TEST(MetricBlockTest, ADeviceWithoutSamplesLeavesNoTrace) {
  wire::AgentReport report;
  const MetricBlockBuilder block(report, "eth0", 7);
  EXPECT_TRUE(block.empty());
  EXPECT_EQ(report.metrics_size(), 0);
}

TEST(MetricBlockTest, TwoBlocksMayBeFilledInTurns) {
  wire::AgentReport report;
  MetricBlockBuilder host(report, "", 1);
  host.Add(Metric::kHostLoad1, 1);
  for (int i = 0; i < 100; ++i) MetricBlockBuilder(report, std::to_string(i), 1).Add(Metric::kNetUp, 1);
  host.Add(Metric::kHostRunnableTasks, 2);
  EXPECT_EQ(ValueOf(report, "", Metric::kHostRunnableTasks), 2);
}

TEST(MetricBlockTest, AnOddNameCannotSpoilTheReport) {
  wire::AgentReport report;
  MetricBlockBuilder(report, "et\xffh\n0", 1).Add(Metric::kNetUp, 1);
  EXPECT_EQ(report.metrics(0).device(), "et?h?0");
  std::string bytes;
  EXPECT_TRUE(report.SerializeToString(&bytes));
  EXPECT_TRUE(wire::AgentReport().ParseFromString(bytes));
}

}  // namespace
}  // namespace lockstep
