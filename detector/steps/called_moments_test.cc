#include "detector/steps/called_moments.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/steps/work_moment.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// When called, and the moment.
using Noted = std::vector<std::pair<int64_t, WorkMoment>>;

// By looking at all of them.
WorkMoment ReferenceLatest(const Noted& noted, int64_t called_ns) {
  WorkMoment latest;
  for (const auto& [moment_called_ns, moment] : noted) {
    if (moment_called_ns <= called_ns) GoOn(moment, &latest);
  }
  return latest;
}

TEST(CalledMomentsTest, AgreesWithTheReferenceOnRandomMoments) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const uint64_t disorder = 1 + random.Below(40);
    CalledMoments moments;
    Noted noted;
    for (uint32_t i = 0; i < 200; ++i) {
      const auto at_ns = static_cast<int64_t>(3 * i + random.Below(disorder));
      const auto called_ns = at_ns - static_cast<int64_t>(random.Below(30));
      noted.push_back({called_ns, {at_ns, i, random.Below(2) == 0}});
      moments.Note(noted.back().second, called_ns);
      const auto asked_ns = at_ns - static_cast<int64_t>(random.Below(60));
      const WorkMoment expected = ReferenceLatest(noted, asked_ns), latest = moments.LatestOf(asked_ns);
      ASSERT_EQ(latest.at_ns, expected.at_ns) << "seed " << seed << " moment " << i;
      // Of two at one time either may be told that was called by then.
      if (latest.operation != kNoOperation) ASSERT_LE(noted[latest.operation].first, asked_ns);
    }
  }
}

TEST(CalledMomentsTest, OfTwoAtOneTimeTheLaterNotedCounts) {
  CalledMoments moments;
  moments.Note({10, 1, false}, 5);
  moments.Note({10, 2, true}, 5);
  EXPECT_EQ(moments.LatestOf(5).operation, 2U);
  EXPECT_TRUE(moments.LatestOf(5).is_end);
}

TEST(CalledMomentsTest, BeforeTheFirstCallThereIsNone) {
  CalledMoments moments;
  EXPECT_EQ(moments.LatestOf(100).operation, kNoOperation);
  moments.Note({10, 1, false}, 5);
  EXPECT_EQ(moments.LatestOf(4).operation, kNoOperation);
  moments.Clear();
  EXPECT_EQ(moments.LatestOf(5).operation, kNoOperation);
}

// Of 3,000 the last 1,024 are kept apart.
TEST(CalledMomentsTest, OfMoreThanAreKeptTheOldestCountsForAll) {
  constexpr int64_t kMoments = 3000;
  CalledMoments moments;
  for (int64_t i = 0; i < kMoments; ++i) moments.Note({i, static_cast<uint32_t>(i), false}, i);
  constexpr auto kOldest = kMoments - static_cast<int64_t>(kMaxCalledMoments);
  EXPECT_EQ(moments.LatestOf(-1).at_ns, kOldest);
  EXPECT_EQ(moments.LatestOf(kOldest + 1).at_ns, kOldest + 1);
  EXPECT_EQ(moments.LatestOf(kMoments).at_ns, kMoments - 1);
}

}  // namespace
}  // namespace lockstep
