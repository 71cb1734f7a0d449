#include "detector/collectives/slow_rank.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "detector/collectives/block_summary.h"
#include "detector/testing/reference_statistics.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

#ifdef LOCKSTEP_SANITIZED
constexpr uint64_t kSeeds = 300;
#else
constexpr uint64_t kSeeds = 2000;
#endif

// A block in which each rank works a random time, some of them too long; those above their peers may be named.
BlockSummary RandomBlock(int64_t number, const std::vector<double>& factors, double noise, Random* random,
                         double overlooked = 0) {
  BlockSummary block;
  block.first_step = number * 5;
  block.last_step = block.first_step + 4;
  block.steps_used = 3 + static_cast<int>(random->Below(3));
  block.step_seconds = 0.1 + 0.01 * random->Unit();
  for (size_t rank = 0; rank < factors.size(); ++rank) {
    const double peers = 0.08 * (1 + 0.02 * random->Gaussian());
    const double own = peers * factors[rank] * (1 + noise * random->Gaussian());
    block.rank_slots.push_back(static_cast<int32_t>(rank) + 3);
    block.own_seconds.push_back(static_cast<float>(own));
    block.peer_seconds.push_back(static_cast<float>(peers));
    block.relative_excess.push_back(static_cast<float>(own / peers - 1));
    if (own < 1.1 * peers || random->Unit() < overlooked) continue;
    BlockCulprit culprit;
    culprit.rank_slot = block.rank_slots.back();
    culprit.saved_alone_seconds = random->Unit() < 0.2 ? 0 : own - peers;
    culprit.saved_last_seconds = random->Unit() < 0.2 ? 0 : own - peers;
    block.culprits.push_back(culprit);
  }
  return block;
}

TEST(SlowRankFinderTest, AgreesWithTheReferenceOnWhomItConvictsAndHowSurely) {
  uint64_t convicted = 0, acquitted = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random random(seed);
    std::vector<double> factors(3 + random.Below(6), 1.0);
    for (double& factor : factors) factor = random.Unit() < 0.25 ? 1.05 + 0.5 * random.Unit() : 1.0;
    const double noise = 0.2 * random.Unit();
    SlowRankFinder finder({});
    const uint64_t blocks = 1 + random.Below(60);
    for (uint64_t i = 0; i < blocks; ++i) {
      finder.Add(RandomBlock(static_cast<int64_t>(i), factors, noise, &random, /*overlooked=*/0.1));
    }
    ASSERT_LE(finder.blocks().size(), 40u);
    const auto expected = ReferenceSlowRanks(finder.blocks(), {});
    const std::vector<SlowRank> found = finder.Find();
    ASSERT_EQ(found.size(), expected.size()) << "seed " << seed;
    for (const SlowRank& slow : found) {
      const auto it = expected.find(slow.rank_slot);
      ASSERT_NE(it, expected.end()) << "seed " << seed << " rank slot " << slow.rank_slot;
      EXPECT_NEAR(slow.own_seconds, it->second.own_seconds, 1e-9);
      EXPECT_NEAR(slow.significance, it->second.significance, 1e-6 * it->second.significance);
      EXPECT_NEAR(slow.share_of_blocks, it->second.share_of_blocks, 1e-9);
    }
    convicted += found.size();
    acquitted += factors.size() - found.size();
  }
  // Both outcomes must have been tried many times.
  EXPECT_GT(convicted, kSeeds / 10);
  EXPECT_GT(acquitted, kSeeds);
}

TEST(SlowRankFinderTest, FewRanksNeedLessSignificance) {
  constexpr double kLimit = 6;
  EXPECT_DOUBLE_EQ(RequiredSignificance(kLimit, static_cast<size_t>(kSignificanceRanks), kManyBlocks), kLimit);
  EXPECT_NEAR(RequiredSignificance(kLimit, 4, kManyBlocks), 4.56, 0.01);
  EXPECT_NEAR(RequiredSignificance(kLimit, 80'000, kManyBlocks), 6.37, 0.01);
  EXPECT_EQ(RequiredSignificance(0, 4, kManyBlocks), 0);
  EXPECT_EQ(RequiredSignificance(kLimit, 4, kManyBlocks - 1), kLimit) << "a few blocks may be one moment";
  EXPECT_NEAR(RequiredSignificance(kLimit, 80'000, kManyBlocks - 1), 6.37, 0.01);
}

TEST(SlowRankFinderTest, AVerdictEndsWhenTheNewestBlocksNoLongerShowIt) {
  Random random(1);
  SlowRankFinder finder({});
  int64_t number = 0;
  const auto add = [&](int blocks, double factor) {
    for (int i = 0; i < blocks; ++i) finder.Add(RandomBlock(number++, {1, 1, factor, 1}, 0.02, &random));
    return finder.Find().size();
  };
  EXPECT_EQ(add(20, 1), 0u);
  EXPECT_EQ(add(12, 1.5), 1u);
  EXPECT_EQ(add(3, 1), 1u) << "three blocks are not enough to take it back";
  EXPECT_EQ(add(6, 1), 0u);
  EXPECT_EQ(add(12, 1.5), 1u);
}

TEST(SlowRankFinderTest, OtherParticipantsBeginAnew) {
  Random random(1);
  SlowRankFinder finder({});
  for (int i = 0; i < 20; ++i) finder.Add(RandomBlock(i, {1, 1, 1.5, 1}, 0.02, &random));
  EXPECT_EQ(finder.Find().size(), 1u);
  finder.Add(RandomBlock(20, {1, 1, 1.5, 1, 1}, 0.02, &random));
  EXPECT_EQ(finder.blocks().size(), 1u);
  EXPECT_TRUE(finder.Find().empty());
}

}  // namespace
}  // namespace lockstep
