#include "detector/stats/level_apart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(LevelApartTest, EndsAtAGap) {
  EXPECT_EQ(FirstApart(std::vector<double>{1, 1.01, 1.02, 1.03, 1.5, 2, 2.5, 3}, 4, 4), 4U);
  EXPECT_EQ(FirstApart(std::vector<double>{1, 1.01, 1.02, 1.03, 1.1, 1.15, 1.2, 1.3}, 4, 4), 0U) << "too small a gap";
  EXPECT_EQ(FirstApart(std::vector<double>{1, 1.01, 1.5, 1.9, 2.3, 2.7}, 4, 1), 0U) << "too few of a level";
}

TEST(LevelApartTest, FewValuesHaveNone) {
  EXPECT_EQ(FirstApart({}, 2, 1), 0U);
  EXPECT_EQ(FirstApart(std::vector<double>{1, 2}, 2, 1), 0U);
}

// The first split that passes, with sums of its own each time.
size_t SlowFirstApart(const std::vector<double>& rising, size_t least, size_t least_above) {
  for (size_t at = least; at + least_above <= rising.size(); ++at) {
    const auto n = static_cast<double>(at);
    double mean = 0, squares = 0;
    for (size_t i = 0; i < at; ++i) mean += rising[i] / n;
    for (size_t i = 0; i < at; ++i) squares += (rising[i] - mean) * (rising[i] - mean);
    const double sigma = std::sqrt(squares / (n - 1));
    const double largest = sigma + kSureErrors * sigma / std::sqrt(2 * (n - 1));
    if (rising[at] > rising[at - 1] + kSureDeviations * largest) return at;
  }
  return 0;
}

TEST(LevelApartTest, AgreesWithTryingEverySplit) {
  Random random(4);
  size_t apart = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> values(2 + random.Below(30));
    const double jump = 20 * random.Unit();
    for (double& value : values) value = random.Gaussian() + (random.Below(3) == 0 ? jump * (1 + random.Unit()) : 0);
    std::sort(values.begin(), values.end());
    const size_t least = 2 + random.Below(6);
    const size_t least_above = 1 + random.Below(4);
    const size_t at = FirstApart(values, least, least_above);
    EXPECT_EQ(at, SlowFirstApart(values, least, least_above)) << trial;
    apart += at > 0 ? 1 : 0;
  }
  EXPECT_GT(apart, 100U);
}

// What the header says of chance.
TEST(LevelApartTest, RandomValuesHardlyHaveOne) {
  Random random(6);
  for (const auto& [count, most] : std::vector<std::pair<size_t, size_t>>{{8, 50}, {20, 20}, {40, 2}}) {
    for (int kind = 0; kind < 3; ++kind) {
      size_t apart = 0;
      for (int trial = 0; trial < 2000; ++trial) {
        std::vector<double> values(count);
        for (double& value : values) {
          const double normal = random.Gaussian();
          value = kind == 0 ? normal : kind == 1 ? std::exp(0.5 * normal) : -std::log(1 - random.Unit());
        }
        std::sort(values.begin(), values.end());
        apart += FirstApart(values, std::max<size_t>(4, count / 4), 4) > 0 ? 1 : 0;
      }
      EXPECT_LE(apart, most) << count << " values of kind " << kind;
    }
  }
}

}  // namespace
}  // namespace lockstep
