#include "agent/watchdog.h"

#include <gtest/gtest.h>

#include "agent/own_usage.h"

namespace lockstep {
namespace {

constexpr int64_t kStart = 1000 * kNanosPerSecond;  // a process does not start with the machine

OwnUsage Usage(double cpu_seconds, int64_t resident_bytes = 1 << 20) {
  return {static_cast<int64_t>(cpu_seconds * kNanosPerSecond), resident_bytes};
}

TEST(WatchdogTest, ChecksOncePerPeriodAndOverThatPeriodOnly) {
  Watchdog watchdog;
  EXPECT_FALSE(watchdog.Check(Usage(50), kStart).checked);  // what was used before counts for nothing
  EXPECT_FALSE(watchdog.Check(Usage(51), kStart + Watchdog::kPeriodNanos - 1).checked);
  const Watchdog::Verdict first = watchdog.Check(Usage(50.25), kStart + Watchdog::kPeriodNanos);
  EXPECT_TRUE(first.checked);
  EXPECT_DOUBLE_EQ(first.core_fraction, 0.025);
  EXPECT_FALSE(first.cpu_exceeded);
  const Watchdog::Verdict second = watchdog.Check(Usage(51.25), kStart + 2 * Watchdog::kPeriodNanos);
  EXPECT_DOUBLE_EQ(second.core_fraction, 0.1);
  EXPECT_TRUE(second.cpu_exceeded);
  EXPECT_FALSE(second.memory_exceeded);
}

TEST(WatchdogTest, ALongPauseIsNoExcess) {
  Watchdog watchdog;
  watchdog.Check(Usage(0), kStart);
  EXPECT_FALSE(watchdog.Check(Usage(1), kStart + 100 * Watchdog::kPeriodNanos).cpu_exceeded);
}

TEST(WatchdogTest, MemoryIsJudgedAsItIsNow) {
  Watchdog watchdog;
  watchdog.Check(Usage(0, Watchdog::kMaxResidentBytes + 1), kStart);
  EXPECT_FALSE(watchdog.Check(Usage(0, Watchdog::kMaxResidentBytes), kStart + Watchdog::kPeriodNanos).memory_exceeded);
  EXPECT_TRUE(
      watchdog.Check(Usage(0, Watchdog::kMaxResidentBytes + 1), kStart + 2 * Watchdog::kPeriodNanos).memory_exceeded);
}

TEST(OwnUsageTest, GrowsWithWorkAndKnowsItsMemory) {
  const OwnUsage before = ReadOwnUsage();
  EXPECT_GT(before.resident_bytes, 1 << 20);
  EXPECT_LT(before.resident_bytes, int64_t{4} << 30);
  // Bounded by the work itself: the accounting of a busy loop must move.
  const int64_t deadline_ns = RealClock().MonotonicNanos() + 30 * kNanosPerSecond;
  while (ReadOwnUsage().cpu_ns == before.cpu_ns && RealClock().MonotonicNanos() < deadline_ns) {
  }
  EXPECT_GT(ReadOwnUsage().cpu_ns, before.cpu_ns);
}

}  // namespace
}  // namespace lockstep
