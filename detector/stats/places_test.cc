// Which places are taken, and which come back regularly.

#include <cstddef>
#include <vector>

#include "detector/stats/even_places.h"
#include "detector/stats/regular_intervals.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using Places = std::vector<size_t>;

TEST(EvenPlacesTest, AreTheMiddlesOfEqualParts) {
  EXPECT_EQ(EvenPlaces(9, 3), (Places{1, 4, 7}));
  EXPECT_EQ(EvenPlaces(3, 8), (Places{0, 1, 2}));
  EXPECT_TRUE(EvenPlaces(0, 3).empty());
}

TEST(AtEqualIntervalsTest, NeedsTwoIntervals) {
  EXPECT_TRUE(AtEqualIntervals(Places{2, 7, 12, 17}));
  EXPECT_FALSE(AtEqualIntervals(Places{2, 7, 12, 18}));
  EXPECT_FALSE(AtEqualIntervals(Places{2, 7}));
  EXPECT_TRUE(AtEqualIntervals(Places{9, 14, 19})) << "the first may be hidden";
  EXPECT_FALSE(AtEqualIntervals(Places{10, 15, 20})) << "it was not so from the beginning";
  EXPECT_FALSE(AtEqualIntervals({}));
  EXPECT_FALSE(AtEqualIntervals(Places{2, 4, 6, 8})) << "every other step is no plan";
  EXPECT_FALSE(AtEqualIntervals(Places{9, 10, 11, 12})) << "a stretch";
}

}  // namespace
}  // namespace lockstep
