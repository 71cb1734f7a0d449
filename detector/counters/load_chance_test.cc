#include "detector/counters/load_chance.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = 1000;

CounterSign Load(int32_t unit, double share, int64_t onset_ms) {
  CounterSign sign;
  sign.host = unit;
  sign.watch = 3;
  sign.excursion.unit = unit;
  sign.excursion.up = true;
  sign.excursion.share = share;
  sign.excursion.onset_ms = onset_ms;
  return sign;
}

TEST(LoadChanceTest, ExpectsABackupPerMachineAndDayUntilItKnows) {
  LoadChance chance;
  chance.EndLook(1);
  const double usual = chance.Expected(Load(0, 1, 0), 86'400 * kSecond, 1, 1);
  EXPECT_NEAR(usual, 1, 1e-6);
  EXPECT_NEAR(chance.Expected(Load(0, 1, 0), 864 * kSecond, 10, 1), 0.1, 1e-6);
  // A day of 9.5 machines without any load: half a load on ten machine-days.
  EXPECT_NEAR(chance.Expected(Load(0, 1, 0), 86'400 * kSecond, 9.5, 86'400 * kSecond + 1), 9.5 * 0.5 / 10, 1e-6);
}

TEST(LoadChanceTest, CountsLoadsThatWereAsStrong) {
  LoadChance chance;
  int64_t now_ms = kSecond;
  chance.EndLook(now_ms);
  for (int32_t i = 0; i < 20; ++i) {
    now_ms += 100 * kSecond;
    chance.Note(Load(i, i < 15 ? 0.8 : 2.5, now_ms), now_ms);
    chance.EndLook(now_ms);
  }
  now_ms += 100 * kSecond;
  chance.EndLook(now_ms);
  const auto expected = [&](double share) {
    return chance.Expected(Load(50, share, now_ms), 60 * kSecond, 64, now_ms);
  };
  EXPECT_NEAR(expected(0.5) / expected(2), 20.5 / 5.5, 1e-6);
  EXPECT_NEAR(expected(2) / expected(3), 5.5 / 0.5, 1e-6);
  CounterSign other_way = Load(50, 2, now_ms);
  other_way.excursion.up = false;
  EXPECT_NEAR(chance.Expected(other_way, 60 * kSecond, 64, now_ms), expected(3), 1e-9);
}

TEST(LoadChanceTest, LoadsThatBeganTogetherAreNoChanceAndOnesUnderWayForLongAre) {
  LoadChance chance;
  chance.EndLook(kSecond);
  chance.Note(Load(1, 3, 100 * kSecond), 190 * kSecond);
  chance.Note(Load(2, 3, 185 * kSecond), 190 * kSecond);
  chance.EndLook(190 * kSecond);
  const double with_one = chance.Expected(Load(3, 2, 190 * kSecond), 60 * kSecond, 64, 190 * kSecond);
  const double with_none = chance.Expected(Load(3, 4, 190 * kSecond), 60 * kSecond, 64, 190 * kSecond);
  EXPECT_NEAR(with_one / with_none, 1.5 / 0.5, 1e-6);
}

TEST(LoadChanceTest, ALoadWithAPauseCountsOnceAndLastsWhileItIsAsStrongAsItWas) {
  LoadChance chance;
  chance.Note(Load(1, 1.5, kSecond), 10 * kSecond);
  chance.EndLook(10 * kSecond);
  EXPECT_TRUE(chance.Lasts(Load(1, 1.5, kSecond)));
  EXPECT_FALSE(chance.Lasts(Load(1, 1.2, kSecond)));
  EXPECT_TRUE(chance.Lasts(Load(2, 1.2, kSecond))) << "never noted";
  chance.EndLook(30 * kSecond);
  chance.Note(Load(1, 0.4, 30 * kSecond), 31 * kSecond);
  EXPECT_FALSE(chance.Lasts(Load(1, 0.4, 30 * kSecond)));
  chance.EndLook(31 * kSecond);
  chance.EndLook(31 * kSecond + LoadChance::kPauseMs);
  EXPECT_TRUE(chance.Lasts(Load(1, 0.4, 30 * kSecond))) << "a new one";
  const int64_t now_ms = 31 * kSecond + LoadChance::kPauseMs;
  const double once = chance.Expected(Load(5, 1.4, now_ms), 60 * kSecond, 8, now_ms);
  const double never = chance.Expected(Load(5, 1.7, now_ms), 60 * kSecond, 8, now_ms);
  EXPECT_NEAR(once / never, 1.5 / 0.5, 1e-6);
}

}  // namespace
}  // namespace lockstep
