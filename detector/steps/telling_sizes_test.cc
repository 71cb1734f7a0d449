#include "detector/steps/telling_sizes.h"

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

std::vector<uint64_t> Repeat(const std::vector<uint64_t>& step, int steps) {
  std::vector<uint64_t> bytes;
  for (int i = 0; i < steps; ++i) bytes.insert(bytes.end(), step.begin(), step.end());
  return bytes;
}

std::vector<uint64_t> Buckets(int count) {
  std::vector<uint64_t> step;
  for (int i = 0; i < count; ++i) step.push_back(static_cast<uint64_t>(1'000'000 + 7919 * i));
  return step;
}

TEST(TellingSizesTest, FewSizesTell) {
  EXPECT_TRUE(SizesTell({}));
  EXPECT_TRUE(SizesTell(Repeat({1, 2, 2, 3}, 5)));
}

TEST(TellingSizesTest, OnePerBucketTellsHoweverManyBucketsThereAre) {
  for (const int buckets : {17, 21, 100}) EXPECT_TRUE(SizesTell(Repeat(Buckets(buckets), 4))) << buckets;
  EXPECT_FALSE(SizesTell(Repeat(Buckets(40), 2))) << "no repetition yet";
}

TEST(TellingSizesTest, LostRecordsBreakNoOrder) {
  Random random(3);
  std::vector<uint64_t> bytes = Repeat(Buckets(21), 25);
  std::erase_if(bytes, [&](uint64_t) { return random.Unit() < 0.05; });
  EXPECT_TRUE(SizesTell(bytes));
}

TEST(TellingSizesTest, WhatTokensDecideDoesNot) {
  Random random(5);
  std::vector<uint64_t> any, of_levels;
  for (int i = 0; i < 1000; ++i) {
    any.push_back(static_cast<uint64_t>(1e9 * random.Unit()));
    of_levels.push_back(static_cast<uint64_t>(40 * random.Unit()));
  }
  EXPECT_FALSE(SizesTell(any));
  EXPECT_FALSE(SizesTell(of_levels));
}

TEST(TellingSizesTest, WhatEachBatchDecidesDoesNot) {
  std::vector<uint64_t> bytes;
  for (const uint64_t of_step : Repeat(Buckets(30), 3)) bytes.insert(bytes.end(), 12, of_step);
  EXPECT_FALSE(SizesTell(bytes));
}

// Three calls of each layer, and sizes that go with the length of the sequence.
TEST(TellingSizesTest, WhatLastsForAStepDoesNotThoughItIsInOrderThere) {
  std::vector<uint64_t> bytes;
  for (uint64_t step = 0; step < 20; ++step) {
    for (int layer = 0; layer < 4; ++layer) bytes.insert(bytes.end(), {1000 + step, 3000 + 3 * step, 2000 + 2 * step});
  }
  EXPECT_FALSE(SizesTell(bytes));
}

}  // namespace
}  // namespace lockstep
