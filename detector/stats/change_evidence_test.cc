#include "detector/stats/change_evidence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr EvidenceLimits kUnlimited = {.tick = 1e9, .total = 1e9};

// What the sums mean, the slow way: the largest sum over the last k ticks, for any k, 0 included.
double LargestLastSum(const std::vector<double>& nats) {
  double largest = 0;
  for (size_t begin = 0; begin < nats.size(); ++begin) {
    double sum = 0;
    for (size_t i = begin; i < nats.size(); ++i) sum += nats[i];
    largest = std::max(largest, sum);
  }
  return largest;
}

struct Reference {
  std::vector<double> gross;
  std::vector<double> subtle;
  int64_t onset_ms = 0;
  bool away = false;

  void Add(double toward, int64_t time_ms, const EvidenceLimits& limits) {
    gross.push_back(std::min(std::max(3 * toward - 4.5, -4.5), limits.tick));
    subtle.push_back(std::min(std::max(toward - 0.5, -2.0), 0.75 * limits.tick));
    if (!away) onset_ms = time_ms;
    away = Evidence() > ChangeEvidence::kNoise;
  }
  double Evidence() const { return std::max(LargestLastSum(gross), 0.65 * LargestLastSum(subtle)); }
};

TEST(ChangeEvidenceTest, WhereThePlaceIsHardlyKnownOnlyGrossChangesCount) {
  ChangeEvidence evidence;
  for (int64_t tick = 1; tick <= 100; ++tick) evidence.Add(1.2, tick, {.tick = 10, .total = 100, .subtle = false});
  EXPECT_EQ(evidence.Most(), 0);
  for (int64_t tick = 101; tick <= 200; ++tick) evidence.Add(1.2, tick, {.tick = 10, .total = 100});
  EXPECT_GT(evidence.Of(0), 25);
  for (int64_t tick = 201; tick <= 203; ++tick) evidence.Add(4, tick, {.tick = 10, .total = 100, .subtle = false});
  EXPECT_NEAR(evidence.Of(0), 3 * 7.5, 1e-3);
}

TEST(ChangeEvidenceTest, AgreesWithTheLargestSumOverAnyLastTicks) {
  Random random(1);
  for (int series = 0; series < 40; ++series) {
    ChangeEvidence evidence;
    Reference up, down;
    const double shift = series % 3 == 0 ? 0 : 4 * random.Unit() - 2;
    const EvidenceLimits limits = {.tick = series % 2 == 0 ? 1e9 : 2.5, .total = 1e9};
    for (int64_t tick = 1; tick <= 80; ++tick) {
      const double score = random.Gaussian() + (tick > 40 ? shift : 0);
      evidence.Add(score, tick, limits);
      up.Add(score, tick, limits);
      down.Add(-score, tick, limits);
      ASSERT_NEAR(evidence.Of(0), up.Evidence(), 1e-3) << series << " " << tick;
      ASSERT_NEAR(evidence.Of(1), down.Evidence(), 1e-3) << series << " " << tick;
      ASSERT_EQ(evidence.Most(), std::max(evidence.Of(0), evidence.Of(1)));
      if (up.away) {
        ASSERT_EQ(evidence.onset_ms(0), up.onset_ms) << series << " " << tick;
      }
      if (down.away) {
        ASSERT_EQ(evidence.onset_ms(1), down.onset_ms) << series << " " << tick;
      }
    }
  }
}

TEST(ChangeEvidenceTest, ALargeShiftTellsAtOnceAndASmallOneInTheEnd) {
  const auto ticks_until = [](double shift, double nats) {
    ChangeEvidence evidence;
    int ticks = 0;
    while (evidence.Most() < nats && ticks < 1000) evidence.Add(shift, ++ticks, kUnlimited);
    return ticks;
  };
  EXPECT_EQ(ticks_until(6, 25), 2);
  EXPECT_EQ(ticks_until(3, 25), 6);
  EXPECT_EQ(ticks_until(1, 25), 77);
  EXPECT_EQ(ticks_until(0.4, 25), 1000);
}

TEST(ChangeEvidenceTest, OneWildTickAddsNoMoreThanItsShareAndSumsComeBack) {
  ChangeEvidence evidence;
  const EvidenceLimits limits = {.tick = 2, .total = 10};
  evidence.Add(1000, 1, limits);
  EXPECT_EQ(evidence.Of(0), 2);
  for (int tick = 2; tick < 100; ++tick) evidence.Add(1000, tick, limits);
  EXPECT_EQ(evidence.Of(0), 10);
  for (int tick = 100; tick < 110; ++tick) evidence.Add(0, tick, limits);
  EXPECT_LT(evidence.Of(0), 4);
  evidence.Clear();
  EXPECT_EQ(evidence.Most(), 0);
}

}  // namespace
}  // namespace lockstep
