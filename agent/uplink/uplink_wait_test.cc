// How long reports wait for a collector, as the uplink tells it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "agent/testing/fake_collector.h"
#include "agent/uplink/hello.h"
#include "agent/uplink/uplink.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "base/testing/sim_clock.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kTestDeadlineNs = 30 * kNanosPerSecond;

std::vector<uint64_t> WaitedSeconds(const FakeCollector& collector) {
  std::vector<uint64_t> seconds;
  for (const wire::AgentReport& report : collector.reports()) seconds.push_back(report.waited_ns() / kNanosPerSecond);
  return seconds;
}

// Drain answers only while connected: ask until it has drained.
bool DrainAll(Uplink& uplink) {
  const int64_t deadline = RealClock().MonotonicNanos() + kTestDeadlineNs;
  while (RealClock().MonotonicNanos() < deadline) {
    if (uplink.Drain(kNanosPerSecond)) return true;
  }
  return false;
}

TEST(UplinkWaitTest, EachReportSaysHowLongItWaitedUntilItWasSent) {
  FakeCollector collector;
  collector.set_reachable(false);
  SimClock clock;
  Random random(1);
  Uplink uplink(collector, MakeHello("host", random), {}, clock, random);
  for (int i = 0; i < 3; ++i) {
    uplink.Send(wire::AgentReport());
    clock.Advance(20 * kNanosPerSecond);
  }
  collector.set_reachable(true);
  ASSERT_TRUE(DrainAll(uplink));
  uplink.Send(wire::AgentReport());
  ASSERT_TRUE(DrainAll(uplink));
  EXPECT_THAT(WaitedSeconds(collector), ElementsAre(60, 40, 20, 0));
}

// A connection whose end nobody tells takes what fits into buffers, then blocks who writes.
TEST(UplinkWaitTest, ACollectorThatTakesNothingAnyMoreIsLeft) {
  FakeCollector collector;
  SimClock clock;
  Random random(1);
  Uplink uplink(collector, MakeHello("host", random), {}, clock, random);
  uplink.Send(wire::AgentReport());
  ASSERT_TRUE(DrainAll(uplink));
  collector.LosePower();
  StopSignal never;
  const int64_t deadline = RealClock().MonotonicNanos() + kTestDeadlineNs;
  while (uplink.statistics().disconnections == 0 && RealClock().MonotonicNanos() < deadline) {
    uplink.Send(wire::AgentReport());
    uplink.LeaveIfStalled();
    never.WaitFor(kNanosPerMilli);
    clock.Advance(kNanosPerSecond);
  }
  EXPECT_EQ(uplink.statistics().disconnections, 1);
  ASSERT_TRUE(DrainAll(uplink));
  EXPECT_EQ(uplink.statistics().connections, 2);
  EXPECT_EQ(collector.reports().size(), collector.reports().back().sequence()) << "each report once";
}

}  // namespace
}  // namespace lockstep
