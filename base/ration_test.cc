#include "base/ration.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(RationTest, IsThereAnewWithEachSecond) {
  Ration ration(2);
  for (const int64_t second : {0, 1, 5}) {
    EXPECT_TRUE(ration.Take(second * kNanosPerSecond));
    EXPECT_TRUE(ration.Take(second * kNanosPerSecond + 1));
    EXPECT_FALSE(ration.Take((second + 1) * kNanosPerSecond - 1));
  }
}

}  // namespace
}  // namespace lockstep
