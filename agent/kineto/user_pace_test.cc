#include "agent/kineto/user_pace.h"

#include "gtest/gtest.h"

namespace lockstep {
namespace {

int64_t Allowed(UserPace& pace, uint32_t uid, int64_t now_ns, int64_t sent) {
  int64_t allowed = 0;
  for (int64_t i = 0; i < sent; ++i) allowed += pace.Allow(uid, now_ns) ? 1 : 0;
  return allowed;
}

TEST(UserPaceTest, ABurstAndThenSoManyPerSecond) {
  UserPace pace;
  EXPECT_EQ(Allowed(pace, 1000, 0, 10'000), UserPace::kBurst);
  EXPECT_EQ(Allowed(pace, 1000, kNanosPerSecond, 10'000), UserPace::kPerSecond);
  EXPECT_EQ(Allowed(pace, 1000, 100 * kNanosPerSecond, 10'000), UserPace::kBurst);
}

TEST(UserPaceTest, AFloodOfOneUserTakesNothingFromAnother) {
  UserPace pace;
  Allowed(pace, 1000, 0, 10'000);
  EXPECT_EQ(Allowed(pace, 1001, 0, 10), 10);
}

TEST(UserPaceTest, MoreUsersThanAreFollowedWaitForQuietOnes) {
  UserPace pace;
  for (uint32_t uid = 0; uid < UserPace::kMaxUsers; ++uid) ASSERT_TRUE(pace.Allow(uid, 0));
  EXPECT_FALSE(pace.Allow(100'000, 0));
  EXPECT_TRUE(pace.Allow(100'000, kNanosPerSecond));
}

}  // namespace
}  // namespace lockstep
