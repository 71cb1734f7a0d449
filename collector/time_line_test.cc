#include "collector/time_line.h"

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

TEST(TimeLineTest, ItIsTheWallClockAndTheMonotonicOne) {
  JumpingClock clock;
  const TimeLine line(clock);
  EXPECT_EQ(line.WallNanos(), clock.WallNanos());
  EXPECT_EQ(line.MonotonicNanos(), clock.MonotonicNanos());
  clock.Advance(kNanosPerSecond);
  EXPECT_EQ(line.WallNanos(), clock.WallNanos());
}

TEST(TimeLineTest, AWallClockThatJumpsLeavesDurationsAlone) {
  for (const int64_t jump : {-kHour, kHour}) {
    JumpingClock clock;
    const TimeLine line(clock);
    const int64_t before = line.WallNanos();
    clock.offset_ns += jump;
    clock.Advance(10 * kNanosPerSecond);
    const int64_t passed = line.WallNanos() - before;
    EXPECT_GE(passed, 10 * kNanosPerSecond * 98 / 100) << jump;
    EXPECT_LE(passed, 10 * kNanosPerSecond * 102 / 100) << jump;
  }
}

TEST(TimeLineTest, TheWallClockIsReachedInTheEndHoweverOftenItIsRead) {
  for (const int64_t pause : {int64_t{7}, kNanosPerSecond}) {
    JumpingClock clock;
    const TimeLine line(clock);
    const int64_t jump = 60 * pause;
    clock.offset_ns += jump;
    for (int reading = 0; reading < 3'600; ++reading) {
      clock.Advance(pause);
      line.WallNanos();
    }
    EXPECT_NEAR(static_cast<double>(line.WallNanos() - clock.WallNanos()), 0, TimeLine::kSlewShare) << pause;
  }
}

TEST(TimeLineTest, ItGoesOnBehindAnEarlierLife) {
  JumpingClock clock;
  TimeLine line(clock);
  const int64_t newest = clock.WallNanos() + kHour;
  line.ContinueBehind(newest);
  const int64_t before = line.WallNanos();
  EXPECT_GT(before, newest);
  clock.Advance(kNanosPerSecond);
  EXPECT_GE(line.WallNanos() - before, kNanosPerSecond * 98 / 100);
  line.ContinueBehind(newest);
  EXPECT_GT(line.WallNanos(), before) << "what is behind changes nothing";
}

}  // namespace
}  // namespace lockstep
