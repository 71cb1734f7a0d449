#include "detector/engine/look_schedule.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr double kStep = 0.1;

// Ticks of half a second; how many looks fall due up to `until`. Each takes a second and pulls `bytes` from 10 hosts.
int Looks(LookSchedule& schedule, int64_t* now_ns, int64_t until_ns, double bytes, bool guarded = true) {
  int looks = 0;
  for (; *now_ns < until_ns; *now_ns += kSecond / 2) {
    if (!schedule.Due(*now_ns)) continue;
    ++looks;
    schedule.NoteBegin(*now_ns);
    schedule.NoteLook(*now_ns + kSecond, guarded, kStep, bytes, 10);
  }
  return looks;
}

TEST(LookScheduleTest, NothingIsDueBeforeTheJobMoves) {
  LookSchedule schedule;
  schedule.NoteEvent(kSecond, kStep);
  EXPECT_FALSE(schedule.Due(100 * kSecond));
  schedule.Begin(100 * kSecond);
  EXPECT_TRUE(schedule.Due(100 * kSecond));
}

TEST(LookScheduleTest, LooksBecomeSeldomAsTheBudgetSays) {
  for (const double bytes : {1e4, 1e6, 1e8}) {
    LookSchedule schedule;
    schedule.Begin(0);
    int64_t now_ns = 0;
    EXPECT_NEAR(Looks(schedule, &now_ns, 60 * kSecond, bytes), 6, 1);
    Looks(schedule, &now_ns, 1800 * kSecond, bytes);
    const double looks = Looks(schedule, &now_ns, (1800 + 36'000) * kSecond, bytes);
    // 10 hosts, 300 bytes a second each, within one look a minute and one in ten minutes.
    EXPECT_NEAR(looks, bytes < 1e5 ? 36'000 / 60.0 : bytes < 1e7 ? 36'000 / 333.0 : 36'000 / 600.0, 3) << bytes;
  }
}

TEST(LookScheduleTest, UnguardedJobsAreLookedAtByAShareOfTheTime) {
  LookSchedule schedule;
  schedule.Begin(0);
  int64_t now_ns = 0;
  EXPECT_GE(Looks(schedule, &now_ns, 12 * kSecond, 1e4, /*guarded=*/false), 6);
  EXPECT_GE(Looks(schedule, &now_ns, 24 * kSecond, 1e4, false), 2);
  EXPECT_LE(Looks(schedule, &now_ns, 240 * kSecond, 1e4, false), 12);
  schedule.NoteLook(now_ns, false, kStep, 1e4, 10);
  int64_t after_ns = now_ns;
  while (!schedule.Due(after_ns)) after_ns += kSecond / 2;
  EXPECT_LE(static_cast<double>(after_ns - now_ns),
            LookSchedule::kUnguardedShare * static_cast<double>(now_ns) + kSecond);
}

TEST(LookScheduleTest, AnEventBringsTheNextLookNearAndTheFollowingOnesToo) {
  LookSchedule schedule;
  schedule.Begin(0);
  int64_t now_ns = 0;
  Looks(schedule, &now_ns, 600 * kSecond, 1e4);
  schedule.NoteEvent(now_ns, kStep);
  EXPECT_TRUE(schedule.Due(now_ns));
  EXPECT_GE(Looks(schedule, &now_ns, now_ns + 16 * kSecond, 1e4), 3);
}

TEST(LookScheduleTest, TheSecondLookWaitsForAnotherStep) {
  LookSchedule schedule;
  schedule.Begin(0);
  schedule.NoteBegin(kSecond);
  schedule.NoteLook(2 * kSecond, true, 8, 1e4, 10);
  schedule.NoteEvent(kSecond, 8);
  EXPECT_FALSE(schedule.Due(8 * kSecond));
  EXPECT_TRUE(schedule.Due(9 * kSecond));
}

}  // namespace
}  // namespace lockstep
