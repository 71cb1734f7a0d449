// Ends between the looks of watchdogs, narrowed down by those of others.

#include "formats/watchdog_times.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "base/random.h"

namespace lockstep {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kLook = 100 * kMillisecond;

// 16 ranks whose watchdogs and clocks are all out of step, 60 collectives of which the last to come stays 1 ms.
TEST(WatchdogTimesTest, LooksOfManyTellEndsBetterThanOnesOwn) {
  Random random(7);
  std::vector<WatchedCall> calls;
  std::vector<int64_t> ends;
  for (int32_t rank = 0; rank < 16; ++rank) {
    Random own(3);
    const auto clock = static_cast<int64_t>(random.Below(1'000'000)) * kMillisecond;
    const int64_t look_every = kLook + rank * 1'300'000;  // and what a look takes
    const auto phase = static_cast<int64_t>(random.Below(kLook));
    int64_t now = 0;
    for (uint64_t sequence = 0; sequence < 60; ++sequence) {
      now += static_cast<int64_t>(own.Below(80) + 20) * kMillisecond;
      const int64_t look = now - (now + phase) % look_every;  // the last one before the end
      calls.push_back({rank, 0, sequence, kMillisecond, clock + look, clock + look + look_every});
      ends.push_back(clock + now);
    }
  }
  NarrowEnds(calls);
  for (size_t i = 0; i < calls.size(); ++i) {
    const int64_t middle = (calls[i].earliest_end_ns + calls[i].latest_end_ns) / 2;
    EXPECT_LT(std::abs(middle - ends[i]), 25 * kMillisecond) << i;
    EXPECT_LE(calls[i].earliest_end_ns, calls[i].latest_end_ns);
  }
}

TEST(WatchdogTimesTest, CallsOfAMemberFollowEachOther) {
  std::vector<WatchedCall> calls = {{0, 0, 1, 10, 0, 100}, {0, 0, 2, 30, 0, 100}};
  NarrowEnds(calls);
  EXPECT_EQ(calls[0].latest_end_ns, 70);
  EXPECT_EQ(calls[1].earliest_end_ns, 30);
}

}  // namespace
}  // namespace lockstep
