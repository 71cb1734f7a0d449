#include "detector/counters/degradation_sums.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kUnits = 64;
constexpr double kFreedom = kUnits - 1;
constexpr double kEnough = 12;  // nats: 64 units, and one wrong answer in 2,500

// Units with noise that remembers itself; unit 7 is off by `off_before` and `off_since`.
class DegradationSumsTest : public testing::Test {
 protected:
  void Begin(uint64_t seed) {
    random_ = Random(seed);
    sums_ = DegradationSums();
    state_.assign(kUnits, 0);
    for (size_t unit = 0; unit < kUnits; ++unit) sums_.AddUnit();
  }

  void Play(int seconds, int64_t slower_since_ms, double off) {
    for (int second = 0; second < seconds; ++second) {
      sums_.Date(slower_since_ms);
      for (size_t unit = 0; unit < kUnits; ++unit) {
        state_[unit] = 0.6 * state_[unit] + 0.8 * random_.Gaussian();
        sums_.Add(unit, state_[unit] + (unit == 7 ? off : 0), 1);
      }
      sums_.Conclude(0.01, 0, 1, kFreedom);
    }
  }

  double MostOfOthers() const {
    double most = 0;
    for (size_t unit = 0; unit < kUnits; ++unit) most = std::max(most, unit == 7 ? 0 : sums_.Of(unit).nats);
    return most;
  }

  Random random_{1};
  DegradationSums sums_;
  std::vector<double> state_;
};

TEST_F(DegradationSumsTest, AShiftBelowTheNoiseOfAReadingShowsWithinAMinute) {
  Begin(1);
  Play(300, 0, 0);
  EXPECT_EQ(sums_.Of(7).nats, 0) << "the job fares well";
  Play(60, 300'000, -2);
  EXPECT_GT(sums_.Of(7).nats, kEnough);
  EXPECT_NEAR(sums_.Of(7).shift, -2, 0.6);
  EXPECT_LT(MostOfOthers(), kEnough);
}

TEST_F(DegradationSumsTest, HealthyUnitsHardlyEverSeemToHaveChanged) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Begin(seed);
    Play(150, 0, 0);
    Play(40, 150'000, 0);
    wrong += std::max(MostOfOthers(), sums_.Of(7).nats) > kEnough ? 1 : 0;
  }
  EXPECT_LE(wrong, 2);
}

TEST_F(DegradationSumsTest, WhoWasOddBeforeIsNotChanged) {
  Begin(2);
  Play(300, 0, -3);
  Play(60, 300'000, -3);
  EXPECT_LT(sums_.Of(7).nats, kEnough);
}

TEST_F(DegradationSumsTest, ItNeedsSomeSecondsAndStopsLookingLater) {
  Begin(3);
  Play(300, 0, 0);
  Play(static_cast<int>(DegradationSums::kLeastSeconds) - 1, 300'000, 9);
  EXPECT_EQ(sums_.Of(7).nats, 0);
  Play(1, 300'000, 9);
  EXPECT_GT(sums_.Of(7).nats, 0);
  Play(static_cast<int>(DegradationSums::kMostSeconds), 300'000, 9);
  EXPECT_EQ(sums_.Of(7).nats, 0);
}

TEST_F(DegradationSumsTest, AnotherMomentBeginsAnew) {
  Begin(4);
  Play(300, 0, 0);
  Play(60, 300'000, 3);
  EXPECT_GT(sums_.Of(7).nats, kEnough);
  Play(40, 360'000, 0);
  EXPECT_LT(sums_.Of(7).nats, kEnough);
}

TEST_F(DegradationSumsTest, ThatFewUnitsHaveAllTheNoiseMakesTwoEventsNoShift) {
  Begin(5);
  for (const double noise : {0.0, 1.0}) {
    for (int reading = 0; reading < 7; ++reading) {
      sums_.Date(reading < 4 ? 0 : 60'000);
      for (size_t unit = 0; unit < kUnits; ++unit) sums_.Add(unit, unit == 7 && reading >= 5 ? 2 : 0, 15);
      sums_.Conclude(0.1, noise, 15, kFreedom);
    }
    EXPECT_EQ(sums_.Of(7).nats > kEnough, noise == 0) << noise;
    Begin(5);
  }
}

// Events come in one phase of a step; that the newest reading is of a calm one makes them no shift.
TEST_F(DegradationSumsTest, NoiseIsThatOfAllPhasesSinceThen) {
  Begin(5);
  for (int reading = 0; reading < 7; ++reading) {
    sums_.Date(reading < 4 ? 0 : 60'000);
    for (size_t unit = 0; unit < kUnits; ++unit) sums_.Add(unit, unit == 7 && reading >= 5 ? 2 : 0, 15);
    sums_.Conclude(0.1, reading == 6 ? 0.01 : 1, 15, kFreedom);
  }
  EXPECT_LT(sums_.Of(7).nats, kEnough);
}

TEST_F(DegradationSumsTest, OneWildReadingMakesNoShift) {
  Begin(7);
  Play(300, 0, 0);
  Play(20, 300'000, 0);
  const double before = sums_.Of(7).shift;
  for (size_t unit = 0; unit < kUnits; ++unit) sums_.Add(unit, unit == 7 ? 100 : 0, 1);
  sums_.Conclude(0.01, 0, 1, kFreedom);
  EXPECT_NEAR(sums_.Of(7).shift, before, 0.2);
}

TEST_F(DegradationSumsTest, OfUnitsThatAreMostlyUnknownOrTooFewNothingIsSaid) {
  Begin(6);
  Play(300, 0, 0);
  sums_.Date(300'000);
  for (int second = 0; second < 40; ++second) {
    for (size_t unit = 0; unit < kUnits; ++unit) {
      if (unit != 7 || second % 4 == 0) sums_.Add(unit, unit == 7 ? 9 : random_.Gaussian(), 1);
    }
    sums_.Conclude(0.01, 0, 1, kFreedom);
  }
  EXPECT_EQ(sums_.Of(7).nats, 0);
  DegradationSums few;
  for (int unit = 0; unit < DegradationSums::kFewestUnits - 1; ++unit) few.AddUnit();
  few.Date(1000);
  for (int second = 0; second < 40; ++second) {
    for (size_t unit = 0; unit < DegradationSums::kFewestUnits - 1; ++unit) few.Add(unit, unit == 0 ? 9 : 0, 1);
    few.Conclude(0.01, 0, 1, 3);
  }
  EXPECT_EQ(few.Of(0).nats, 0);
}

}  // namespace
}  // namespace lockstep
