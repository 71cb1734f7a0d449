#include "base/told_error.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(ToldErrorTest, IsNewsOnceAndAgainAfterAnotherOneOrWhenAllWasWell) {
  ToldError told;
  EXPECT_TRUE(told.IsNews("a"));
  EXPECT_FALSE(told.IsNews("a"));
  EXPECT_TRUE(told.IsNews("b"));
  EXPECT_TRUE(told.IsNews("a"));
  told.Clear();
  EXPECT_TRUE(told.IsNews("a"));
}

}  // namespace
}  // namespace lockstep
