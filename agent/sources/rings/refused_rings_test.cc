#include "agent/sources/rings/refused_rings.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "agent/sources/rings/ring_reader.h"
#include "base/clock.h"

namespace lockstep {
namespace {

const RingRefusal kGarbage = {RingRefusalReason::kNotARing, "no magic number"};
const RingRefusal kStarting = {RingRefusalReason::kInitializing, "the recorder is still starting"};

uint64_t CountOf(const RefusedRings& refused, RingRefusalReason reason) {
  return refused.counts()[static_cast<size_t>(reason)];
}

TEST(RefusedRingsTest, IsLookedAtAgainAfterPausesThatGrowAndIsCountedOnce) {
  RefusedRings refused;
  std::vector<int64_t> pauses;
  int64_t now_ns = 100;
  for (int look = 0; look < 9; ++look) {
    EXPECT_TRUE(refused.Refuse({"a", {1, 2}, 7}, kGarbage, now_ns));
    int64_t pause_ns = kNanosPerSecond;
    while (!refused.IsDue("a", now_ns + pause_ns)) pause_ns += kNanosPerSecond;
    pauses.push_back(pause_ns / kNanosPerSecond);
    now_ns += pause_ns;
  }
  EXPECT_EQ(pauses, (std::vector<int64_t>{1, 2, 4, 8, 16, 32, 60, 60, 60}));
  EXPECT_EQ(CountOf(refused, RingRefusalReason::kNotARing), 1u);
}

TEST(RefusedRingsTest, AnotherReasonAndAnotherFileOfTheNameAreNews) {
  RefusedRings refused;
  refused.Refuse({"a", {1, 2}, 7}, kGarbage, 1);
  refused.Refuse({"a", {1, 2}, 7}, {RingRefusalReason::kTooMany, ""}, 2);
  refused.Refuse({"a", {1, 2}, 7}, kGarbage, 3);
  EXPECT_EQ(CountOf(refused, RingRefusalReason::kNotARing), 1u);
  EXPECT_EQ(CountOf(refused, RingRefusalReason::kTooMany), 1u);
  refused.Refuse({"a", {1, 3}, 7}, kGarbage, 4);
  EXPECT_EQ(CountOf(refused, RingRefusalReason::kNotARing), 2u);
}

TEST(RefusedRingsTest, ARecorderThatStartsIsLookedAtEverySecondAndCountsOnlyIfItNeverGetsThere) {
  RefusedRings refused;
  int64_t now_ns = 100;
  for (; now_ns < 100 + RefusedRings::kStartingNanos; now_ns += kNanosPerSecond) {
    refused.Refuse({"a", {1, 2}, 7}, kStarting, now_ns);
    EXPECT_EQ(CountOf(refused, RingRefusalReason::kInitializing), 0u);
    EXPECT_TRUE(refused.IsDue("a", now_ns + kNanosPerSecond));
  }
  refused.Refuse({"a", {1, 2}, 7}, kStarting, now_ns);
  EXPECT_EQ(CountOf(refused, RingRefusalReason::kInitializing), 1u);
}

TEST(RefusedRingsTest, OneUserCannotTakeThePlacesOfAnother) {
  RefusedRings refused;
  std::vector<std::string> names;
  for (size_t i = 0; i < RefusedRings::kMaxFilesPerOwner; ++i) {
    names.push_back("a" + std::to_string(1000 + i));
    EXPECT_TRUE(refused.Refuse({names.back(), {1, i}, 7}, kGarbage, 1));
  }
  EXPECT_FALSE(refused.Refuse({"b", {2, 1}, 7}, kGarbage, 1));
  EXPECT_TRUE(refused.Refuse({"c", {2, 2}, 8}, kGarbage, 1));
  names.pop_back();
  refused.BeginTick(names);
  EXPECT_TRUE(refused.Refuse({"b", {2, 1}, 7}, kGarbage, 1)) << "a file that vanished gives its place back";
}

}  // namespace
}  // namespace lockstep
