#include "collector/stamp_clock.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/clock.h"

namespace lockstep {
namespace {

// A wall clock that can be set, beside a monotonic one that cannot.
class JumpingClock final : public Clock {
 public:
  int64_t MonotonicNanos() const override { return monotonic_ns; }
  int64_t WallNanos() const override { return monotonic_ns + offset_ns; }

  void Advance(int64_t nanos) { monotonic_ns += nanos; }

  int64_t monotonic_ns = 5 * kNanosPerSecond;
  int64_t offset_ns = int64_t{1'700'000'000} * kNanosPerSecond;
};

constexpr int64_t kHour = 3'600 * kNanosPerSecond;

TEST(StampClockTest, StampsAreTheWallClockAndRiseStrictly) {
  JumpingClock clock;
  StampClock stamps(clock, 0);
  const int64_t first = stamps.Next();
  EXPECT_EQ(first, clock.WallNanos());
  EXPECT_GT(stamps.Next(), first);
  clock.Advance(kNanosPerSecond);
  EXPECT_NEAR(static_cast<double>(stamps.Next() - clock.WallNanos()), 0, 2);
}

TEST(StampClockTest, AWallClockThatJumpsLeavesDurationsAlone) {
  for (const int64_t jump : {-kHour, kHour}) {
    JumpingClock clock;
    StampClock stamps(clock, 0);
    const int64_t before = stamps.Next();
    clock.offset_ns += jump;
    clock.Advance(10 * kNanosPerSecond);
    const int64_t passed = stamps.Next() - before;
    EXPECT_GE(passed, 10 * kNanosPerSecond * 98 / 100) << jump;
    EXPECT_LE(passed, 10 * kNanosPerSecond * 102 / 100) << jump;
  }
}

TEST(StampClockTest, TheWallClockIsReachedInTheEnd) {
  JumpingClock clock;
  StampClock stamps(clock, 0);
  stamps.Next();
  clock.offset_ns += 60 * kNanosPerSecond;
  for (int second = 0; second < 3'600; ++second) {
    clock.Advance(kNanosPerSecond);
    stamps.Next();
  }
  EXPECT_NEAR(static_cast<double>(stamps.Next() - clock.WallNanos()), 0, 1'000);
}

TEST(StampClockTest, NoStampOfAnEarlierLifeComesAgain) {
  JumpingClock clock;
  const int64_t newest = clock.WallNanos() + kHour;
  StampClock stamps(clock, newest);
  EXPECT_GT(stamps.Next(), newest);
  const int64_t before = stamps.Next();
  clock.Advance(kNanosPerSecond);
  EXPECT_GE(stamps.Next() - before, kNanosPerSecond * 98 / 100);
}

}  // namespace
}  // namespace lockstep
