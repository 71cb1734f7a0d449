#include "detector/stats/median.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"
#include "detector/stats/order_statistics.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// By sorting.
double SlowMedian(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (static_cast<double>(values[half]) + values[half - 1]) / 2;
}

void Check(std::vector<float> values) {
  const double expected = SlowMedian(values);
  std::vector<double> exact(values.begin(), values.end());
  EXPECT_EQ(MedianInPlace(&exact), expected) << values.size() << " values";
  EXPECT_EQ(MedianOf(absl::MakeSpan(values)), expected) << values.size() << " values";
}

TEST(MedianTest, AgreesWithSortingForEverySize) {
  Random random(1);
  for (size_t size = 1; size <= 300; ++size) {
    std::vector<float> noise, few_levels;
    for (size_t i = 0; i < size; ++i) {
      noise.push_back(static_cast<float>(random.Gaussian()));
      few_levels.push_back(static_cast<float>(random.Below(3)));
    }
    Check(noise);
    Check(few_levels);
    std::sort(noise.begin(), noise.end());
    Check(noise);
    std::reverse(noise.begin(), noise.end());
    Check(noise);
    Check(std::vector<float>(size, 7));
  }
}

TEST(MedianTest, OneThatDiffersAndAnOrderThatMisleadsPivots) {
  for (const size_t odd : {size_t{0}, size_t{500}, size_t{999}}) {
    std::vector<float> values(1000, 7);
    values[odd] = -1;
    Check(values);
  }
  // The ends and the middle are always the greatest that are left.
  std::vector<float> values(4000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::min(i, values.size() - i));
  Check(values);
}

}  // namespace
}  // namespace lockstep
