#include "detector/slow/launch_lateness.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "detector/slow/persistent_excess.h"
#include "detector/testing/peer_profile.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr size_t kRanks = 8, kSteps = 6;
constexpr int32_t kLate = 3;
constexpr float kSeconds = 0.5F;

// One rank is slow in all steps; of that `bound` seconds are launched late, of what the others do `usual`.
PeerProfile Job(float bound, float usual) {
  PeerProfile job(kRanks, kSteps, 2, [](size_t, size_t) { return 0.0F; });
  job.Slow(kLate, 0, kSteps, kSeconds);
  job.profile.host_bound.assign(kRanks * kSteps, usual);
  for (size_t step = 0; step < kSteps; ++step) job.profile.host_bound[kLate * kSteps + step] = bound;
  return job;
}

constexpr Suspect kSuspect = {.rank = kLate, .first_step = 0, .last_step = kSteps - 1};

TEST(LaunchLatenessTest, AreWhatARankLaunchesLateBeyondItsPeersAtMostItsExcess) {
  for (const auto& [bound, usual, late] : {std::tuple(0.3F, 0.1F, 0.2F), std::tuple(2.0F, 0.1F, kSeconds)}) {
    const PeerProfile job = Job(bound, usual);
    const LaunchLateness launches(job.roles, job.profile);
    EXPECT_NEAR(launches.Of(kLate, 2), late, 1e-6);
    EXPECT_EQ(launches.Of(0, 2), 0);
  }
}

TEST(LaunchLatenessTest, TellNothingWherePeersAreNotAheadEither) {
  const PeerProfile job = Job(1.4F, 0.9F);
  EXPECT_TRUE(std::isnan(LaunchLateness(job.roles, job.profile).Of(kLate, 2)));
}

TEST(LaunchLatenessTest, ExplainASuspectIfTheyAreMostOfItsExcess) {
  const PeerProfile most = Job(0.4F, 0.1F), little = Job(0.2F, 0.1F);
  EXPECT_TRUE(LaunchLateness(most.roles, most.profile).Explain(kSuspect));
  EXPECT_FALSE(LaunchLateness(little.roles, little.profile).Explain(kSuspect));
}

}  // namespace
}  // namespace lockstep
