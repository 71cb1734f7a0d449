#include "collector/series_points.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "base/clock.h"
#include "collector/convert/report_limits.h"
#include "collector/testing/report_builder.h"

namespace lockstep {
namespace {

constexpr int64_t kReceivedNs = 1'767'323'045 * kNanosPerSecond;

// How many seconds before its receipt the first sample of a report of two moments, a second apart, is placed.
int64_t SecondsBefore(uint64_t waited_ns, int64_t reported_after_ns = kNanosPerSecond) {
  wire::CaptureInput input;
  input.set_host("node-1");
  input.set_received_wall_ns(kReceivedNs);
  *input.mutable_report() = MakeHostReport(1, 0.5);
  *input.mutable_report()->add_metrics() = input.report().metrics(0);
  input.mutable_report()->set_monotonic_ns(input.report().monotonic_ns() + reported_after_ns);
  input.mutable_report()->mutable_metrics(1)->set_monotonic_ns(input.report().monotonic_ns());
  input.mutable_report()->set_waited_ns(waited_ns);
  std::vector<SeriesPoint> points;
  AppendSeriesPoints(input, points);
  EXPECT_EQ(points.size(), 2u);
  EXPECT_LE(points[1].wall_ns, kReceivedNs);
  return (kReceivedNs - points[0].wall_ns) / kNanosPerSecond;
}

TEST(SeriesPointsTest, APointLiesBeforeTheReceiptByTheWaitOfItsReportAndItsAgeInIt) {
  EXPECT_EQ(SecondsBefore(0), 1) << "as agents say that know of no wait";
  EXPECT_EQ(SecondsBefore(60 * kNanosPerSecond), 61);
}

TEST(SeriesPointsTest, WhatIsImpossibleIsPlacedAtALimitAndNeverInTheFuture) {
  EXPECT_EQ(SecondsBefore(std::numeric_limits<uint64_t>::max()), kMaxWaitedNanos / kNanosPerSecond + 1);
  EXPECT_EQ(SecondsBefore(0, 3600 * kNanosPerSecond), kMaxSampleAgeNanos / kNanosPerSecond);
  EXPECT_EQ(SecondsBefore(5 * kNanosPerSecond, -kNanosPerSecond), 5);
}

}  // namespace
}  // namespace lockstep
