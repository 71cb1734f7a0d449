#include "detector/slow/excess_places.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using testing::FloatNear;
using testing::Pointwise;

std::vector<float> Left(double less, const std::vector<std::vector<float>>& peers, std::vector<float> own) {
  TakeOffExcess(less, {peers.begin(), peers.end()}, absl::MakeSpan(own));
  return own;
}

TEST(OwnTimesOfPeers, AreThoseThatAreNotSlowThemselvesAndMakeAsManyCalls) {
  const std::vector<std::vector<float>> own = {{1, 1}, {1, 2}, {1, 3}, {1, 4, 4}, {1, 5}};
  const auto own_of = [&](size_t rank) { return absl::MakeConstSpan(own[rank]); };
  const auto sample = OwnTimesOfPeers(0, {0, 1, 2, 3, 4}, {1, 0, 1, 0, 0}, own_of);
  ASSERT_EQ(sample.size(), 2u);
  EXPECT_EQ(sample[0], own_of(1));
  EXPECT_EQ(sample[1], own_of(4));
}

TEST(OwnTimesOfPeers, AreFewOfMany) {
  const std::vector<float> own = {1, 2};
  std::vector<int32_t> peers(1000);
  std::iota(peers.begin(), peers.end(), 0);
  EXPECT_EQ(
      OwnTimesOfPeers(5, peers, std::vector<char>(1000, 0), [&](size_t) { return absl::MakeConstSpan(own); }).size(),
      kMostPlacePeers);
}

TEST(OwnTimesOfPeers, AreFromTheMiddleOfEachPartOnFromItsBeginningWhereNobodyElseTells) {
  const std::vector<float> own = {1, 2};
  const std::vector<std::vector<float>> all(3 * kMostPlacePeers, own);
  std::vector<int32_t> peers(all.size());
  std::iota(peers.begin(), peers.end(), 0);
  std::vector<char> left_out(all.size(), 0);
  left_out[1] = left_out[4] = left_out[5] = 1;  // one before the end of its part; the last two of the next
  std::vector<size_t> taken;
  const auto own_of = [&](size_t rank) { return absl::MakeConstSpan(all[rank]); };
  for (const absl::Span<const float> one : OwnTimesOfPeers(all.size() - 1, peers, left_out, own_of)) {
    for (size_t rank = 0; rank < all.size(); ++rank) {
      if (one.data() == all[rank].data()) taken.push_back(rank);
    }
  }
  ASSERT_EQ(taken.size(), kMostPlacePeers);
  EXPECT_EQ(taken[0], 2u);
  EXPECT_EQ(taken[1], 3u);
  EXPECT_EQ(taken[2], 7u);
}

TEST(TakeOffExcess, OfAStallAllIsTakenOffWhereItIs) {
  EXPECT_THAT(Left(5, {{1, 2, 3}, {1, 2, 3}, {1, 9, 3}}, {1, 7, 3}),
              Pointwise(FloatNear(1e-5F), std::vector<float>{1, 2, 3}));
  EXPECT_THAT(Left(2, {{1, 2, 3}}, {1, 7, 3}), Pointwise(FloatNear(1e-5F), std::vector<float>{1, 5, 3}));
}

TEST(TakeOffExcess, OfASlowGpuEachIntervalBecomesShorter) {
  EXPECT_THAT(Left(3, {{1, 2, 3}, {1, 2, 3}}, {1.5, 3, 4.5}), Pointwise(FloatNear(1e-5F), std::vector<float>{1, 2, 3}));
}

TEST(TakeOffExcess, WhatPeersDoNotExplainIsTakenOffAllAlike) {
  EXPECT_THAT(Left(3, {}, {1, 2, 3}), Pointwise(FloatNear(1e-5F), std::vector<float>{0.5, 1, 1.5}));
  EXPECT_THAT(Left(4, {{1, 2, 3}}, {1, 3, 3}), Pointwise(FloatNear(1e-5F), std::vector<float>{0.5, 1, 1.5}));
}

TEST(TakeOffExcess, NothingBecomesNegative) {
  EXPECT_THAT(Left(30, {{1, 2, 3}}, {1, 3, 3}), Pointwise(FloatNear(1e-5F), std::vector<float>{0, 0, 0}));
  EXPECT_THAT(Left(1, {{0}}, {0}), Pointwise(FloatNear(1e-5F), std::vector<float>{0}));
}

}  // namespace
}  // namespace lockstep
