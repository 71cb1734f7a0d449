#include "base/backoff.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(BackoffTest, DoublesUpToTheLongestWithinTheJitter) {
  Backoff backoff(100, 1'000, Random(1));
  for (const int64_t ceiling : {100, 200, 400, 800, 1'000, 1'000}) {
    const int64_t delay = backoff.Next();
    EXPECT_GE(delay, ceiling / 2);
    EXPECT_LE(delay, ceiling);
  }
}

TEST(BackoffTest, FailuresThatAreCountedElsewhereLeaveItAsItIs) {
  Backoff backoff(100, 1'000, Random(1));
  const int64_t ceilings[] = {100, 200, 400, 800, 1'000, 1'000};
  for (uint32_t failures = 0; failures < 6; ++failures) {
    const int64_t delay = backoff.After(failures);
    EXPECT_GE(delay, ceilings[failures] / 2);
    EXPECT_LE(delay, ceilings[failures]);
  }
  EXPECT_LE(backoff.Next(), 100);
}

TEST(BackoffTest, StartsAnewAfterASuccess) {
  Backoff backoff(100, 1'000'000, Random(2));
  for (int i = 0; i < 10; ++i) backoff.Next();
  backoff.Reset();
  EXPECT_LE(backoff.Next(), 100);
}

TEST(BackoffTest, SendersWithDifferentSeedsDoNotMeet) {
  EXPECT_NE(Backoff(1'000'000, 1'000'000, Random(1)).Next(), Backoff(1'000'000, 1'000'000, Random(2)).Next());
}

}  // namespace
}  // namespace lockstep
