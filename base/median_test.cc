#include "base/median.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace lockstep {
namespace {

TEST(MedianRulesTest, OfAnOddNumberTheyAgree) {
  std::vector<int64_t> values = {5, 1, 3};
  EXPECT_EQ(UpperMedian(&values), 3);
  EXPECT_EQ(LowerMedian(&values), 3);
}

TEST(MedianRulesTest, OfAnEvenNumberEachTakesItsSide) {
  std::vector<double> values = {4, 1, 3, 2};
  EXPECT_EQ(UpperMedian(&values), 3);
  EXPECT_EQ(LowerMedian(&values), 2);
  std::vector<double> two = {7, 6};
  EXPECT_EQ(UpperMedian(&two), 7);
  EXPECT_EQ(LowerMedian(&two), 6);
}

TEST(MedianRulesTest, OfNothingItIsNothing) {
  std::vector<int> none;
  EXPECT_EQ(UpperMedian(&none), 0);
  EXPECT_EQ(LowerMedian(&none), 0);
}

TEST(MedianRulesTest, AnElementHasItsPlace) {
  std::vector<int> values = {9, 8, 7, 7, 1};
  EXPECT_EQ(ElementAt(0, &values), 1);
  EXPECT_EQ(ElementAt(1, &values), 7);
  EXPECT_EQ(ElementAt(4, &values), 9);
}

}  // namespace
}  // namespace lockstep
