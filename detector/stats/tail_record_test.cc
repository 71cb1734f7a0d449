#include "detector/stats/tail_record.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(TailRecordTest, TheSurprisalOfACounterThatNeverMovedIsOfItsHistoryAndOfHowFarItGoes) {
  TailRecord record;
  for (int i = 0; i < 9999; ++i) record.Add(0);
  EXPECT_NEAR(record.SurprisalOf(1000, 1), std::log(10'000) + std::log(1000 / std::pow(2, 0.125)), 1e-3);
  EXPECT_NEAR(record.SurprisalOf(0, 1), 0, 1e-9);
  EXPECT_NEAR(record.SurprisalOf(1000, 0.5), std::log(5000) + std::log(1000 / std::pow(2, 0.125)), 1e-3);
}

// Grades are fine enough for noise whose tail falls fast.
TEST(TailRecordTest, OfNormalNoiseItKnowsTheTail) {
  TailRecord record;
  Random random(3);
  for (int i = 0; i < 100'000; ++i) record.Add(std::abs(random.Gaussian()));
  for (const double size : {2.0, 2.4, 2.8, 3.2}) {
    const double chance = std::erfc(size / std::sqrt(2));
    EXPECT_NEAR(record.SurprisalOf(size, 1), -std::log(chance), 0.6) << size;
  }
}

TEST(TailRecordTest, AnEarlierBrokenMachineCostsLittle) {
  TailRecord record;
  for (int i = 0; i < 9990; ++i) record.Add(0);
  for (int i = 0; i < 9; ++i) record.Add(2000);
  EXPECT_NEAR(record.SurprisalOf(1000, 1), std::log(10'000 / 10.0), 1e-3);
}

TEST(TailRecordTest, CanTellNoMoreThanItsReadingsDo) {
  TailRecord record;
  EXPECT_EQ(record.MostKnown(1), 0);
  for (int i = 0; i < 999; ++i) record.Add(1 + i % 7);
  EXPECT_NEAR(record.MostKnown(1), std::log(1000), 1e-9);
  EXPECT_NEAR(record.SurprisalOf(7.7, 1), record.MostKnown(1), 0.1) << "just beyond all";
  EXPECT_LT(record.MostKnown(0.25), record.MostKnown(1));
}

// Normal noise with wild readings now and then, for which the likelihood ratio of a shift by three deviations is taken:
// limited so, it hardly ever gets high.
TEST(TailRecordTest, SumsOfWildReadingsGetHighAsSeldomAsTheySay) {
  Random random(4);
  constexpr int kRuns = 20'000;
  constexpr int kReadings = 20;
  constexpr double kNats = 9;
  constexpr double kWild = 0.002;
  int reached = 0;
  int without_limit = 0;
  for (int run = 0; run < kRuns; ++run) {
    double limited = 0;
    double unlimited = 0;
    double most = 0;
    double most_unlimited = 0;
    for (int reading = 0; reading < kReadings; ++reading) {
      const bool wild = random.Unit() < kWild;
      const double normal = random.Gaussian();
      const double score = wild ? 9 : normal;
      const double chance = wild ? kWild * random.Unit() : kWild + std::erfc(normal / std::sqrt(2)) / 2;
      const double ratio = 3 * score - 4.5;
      limited = std::max(0.0, limited + std::min(ratio, EvidenceOf(-std::log(chance))));
      unlimited = std::max(0.0, unlimited + ratio);
      most = std::max(most, limited);
      most_unlimited = std::max(most_unlimited, unlimited);
    }
    reached += most >= kNats ? 1 : 0;
    without_limit += most_unlimited >= kNats ? 1 : 0;
  }
  // By Ville's inequality, for as many starts as there are readings.
  const double bound = kRuns * kReadings * std::exp(-kNats);
  EXPECT_LE(reached, bound);
  EXPECT_GE(without_limit, 5 * bound);
}

TEST(TailRecordTest, EvidenceIsLessThanTheSurprisal) {
  EXPECT_EQ(EvidenceOf(0), 0);
  EXPECT_EQ(EvidenceOf(3), 3);
  EXPECT_EQ(EvidenceOf(7), kOrdinary);
  EXPECT_NEAR(EvidenceOf(12), 12 - 2 * std::log(13), 1e-9);
}

TEST(TailRecordTest, KnowsNothingAtFirst) {
  const TailRecord record;
  EXPECT_LE(record.SurprisalOf(1, 1), 0);
  EXPECT_LE(record.SurprisalOf(100, 1), std::log(100));
}

// The chance counted over all earlier readings, one by one.
double SlowSurprisal(const std::vector<double>& earlier, double size) {
  const auto reached = std::count_if(earlier.begin(), earlier.end(), [size](double other) { return other >= size; });
  const double most = std::max(1.0, *std::max_element(earlier.begin(), earlier.end()));
  const double chance = (static_cast<double>(reached) + 1) / (static_cast<double>(earlier.size()) + 1);
  return std::log(std::max(1.0, size / most)) - std::log(chance);
}

// Whatever the distribution, a surprisal of x nats comes about e^-x times as often as there are readings, or less.
TEST(TailRecordTest, IsAsRareAsItSaysForAnyDistribution) {
  Random random(1);
  const std::vector<std::function<double()>> draws = {
      [&] { return std::abs(random.Gaussian()); },
      [&] { return std::pow(random.Unit(), -1 / 1.5); },  // Pareto with a mean and no variance
      [&] { return random.Unit() < 0.01 ? 50 * random.Unit() : 0; },
  };
  for (size_t kind = 0; kind < draws.size(); ++kind) {
    TailRecord record;
    std::vector<double> earlier;
    int beyond[2] = {};
    constexpr int kReadings = 40'000;
    for (int i = 0; i < kReadings; ++i) {
      const double size = draws[kind]();
      const double surprisal = record.SurprisalOf(size, 1);
      if (i > 0 && i % 500 == 0) {
        EXPECT_LE(surprisal, SlowSurprisal(earlier, size) + 1e-9) << "sorted too far out";
      }
      beyond[0] += surprisal >= 4 ? 1 : 0;
      beyond[1] += surprisal >= 7 ? 1 : 0;
      record.Add(size);
      earlier.push_back(size);
    }
    EXPECT_LT(beyond[0], 1.3 * kReadings * std::exp(-4)) << kind;
    EXPECT_LT(beyond[1], 2 * kReadings * std::exp(-7)) << kind;
  }
}

TEST(TailRecordTest, ReadingsTogetherAreWorthWhatTheBestOfSoManyChancesIsNot) {
  EXPECT_NEAR(TogetherOf(9, 1), 9, 1e-9);
  EXPECT_NEAR(TogetherOf(18, 2), 18 - std::log(19), 1e-9);
  EXPECT_GT(TogetherOf(12, 2), TogetherOf(12, 3));
  EXPECT_EQ(TogetherOf(0, 4), 0);
  // Of readings that are no surprisal, few together look like one.
  Random random(5);
  constexpr int kSeries = 20'000;
  constexpr int kReadings = 6;
  int improbable = 0;
  for (int series = 0; series < kSeries; ++series) {
    double sum = 0;
    for (int reading = 0; reading < kReadings; ++reading) sum -= std::log(1 - random.Unit());
    improbable += TogetherOf(sum, kReadings) > std::log(100) ? 1 : 0;
  }
  EXPECT_NEAR(improbable, kSeries / 100.0, 45) << "one in a hundred";
}

}  // namespace
}  // namespace lockstep
