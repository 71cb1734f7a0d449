#include "detector/hang/lasting_hangs.h"

#include <cstdint>
#include <vector>

#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kHalfSecond = 500'000'000;

Verdict HangOf(int32_t rank) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kHangNotEntered);
  verdict.culprits = {{.host = "node-1", .rank = rank}};
  return verdict;
}

TEST(LastingHangsTest, OnlyWhatIsFoundUntilEveryHostHasReportedAgainLasts) {
  LastingHangs lasting;
  for (int64_t look = 0; look < 3; ++look) EXPECT_TRUE(lasting.Of({HangOf(1)}, look * kHalfSecond).empty()) << look;
  EXPECT_EQ(lasting.Of({HangOf(1)}, 3 * kHalfSecond).size(), 1u);
  EXPECT_EQ(lasting.Of({HangOf(1), HangOf(2)}, 4 * kHalfSecond).size(), 1u) << "the second is new";
}

TEST(LastingHangsTest, WhatWasGoneForALookBeginsAnew) {
  LastingHangs lasting;
  lasting.Of({HangOf(1)}, 0);
  lasting.Of({}, kHalfSecond);
  EXPECT_TRUE(lasting.Of({HangOf(1)}, 4 * kHalfSecond).empty());
  EXPECT_EQ(lasting.Of({HangOf(1)}, 7 * kHalfSecond).size(), 1u);
}

}  // namespace
}  // namespace lockstep
