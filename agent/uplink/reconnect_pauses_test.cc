#include "agent/uplink/reconnect_pauses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

const absl::Status kLost = absl::UnavailableError("gone");
const absl::Status kTaken = absl::AbortedError("another agent has connected");

auto UpTo(int64_t ceiling_ns) { return AllOf(Ge(ceiling_ns / 2), Le(ceiling_ns)); }

TEST(ReconnectPausesTest, LostCollectorIsTriedSoonerAgainAfterEachStreamThatCameUp) {
  ReconnectPauses pauses{Random(1)};
  EXPECT_THAT(pauses.OnOver(kLost, 0), UpTo(kFirstReconnectNanos));
  EXPECT_THAT(pauses.OnOver(kLost, 0), UpTo(2 * kFirstReconnectNanos));
  for (int i = 0; i < 10; ++i) pauses.OnOver(kLost, 0);
  EXPECT_THAT(pauses.OnOver(kLost, 0), UpTo(kLongestReconnectNanos));
  pauses.OnUp(0);
  EXPECT_THAT(pauses.OnOver(kLost, 1), UpTo(kFirstReconnectNanos));
}

TEST(ReconnectPausesTest, DisplacedAgentWaitsLongerEachTimeThoughItsStreamsComeUp) {
  ReconnectPauses pauses{Random(1)};
  int64_t ceiling_ns = kFirstDisplacedNanos;
  int64_t now_ns = 0;
  for (int i = 0; i < 10; ++i) {
    pauses.OnUp(now_ns);
    now_ns += kLongestDisplacedNanos;  // the other one waits no longer
    EXPECT_THAT(pauses.OnOver(kTaken, now_ns), UpTo(ceiling_ns)) << i;
    ceiling_ns = std::min(2 * ceiling_ns, kLongestDisplacedNanos);
  }
}

TEST(ReconnectPausesTest, AStreamThatWasLeftAloneForgives) {
  ReconnectPauses pauses{Random(1)};
  for (int i = 0; i < 5; ++i) pauses.OnOver(kTaken, 0);
  pauses.OnUp(0);
  EXPECT_THAT(pauses.OnOver(kTaken, kLeftAloneNanos), UpTo(kFirstDisplacedNanos));
}

TEST(ReconnectPausesTest, CollectorThatGoesAwayMeanwhileChangesNothing) {
  ReconnectPauses pauses{Random(1)};
  EXPECT_THAT(pauses.OnOver(kTaken, 0), UpTo(kFirstDisplacedNanos));
  EXPECT_THAT(pauses.OnOver(kLost, 2 * kLeftAloneNanos), UpTo(kFirstReconnectNanos));
  EXPECT_THAT(pauses.OnOver(kTaken, 4 * kLeftAloneNanos), UpTo(2 * kFirstDisplacedNanos));
}

}  // namespace
}  // namespace lockstep
