// What a counterfactual takes off ranks that are slow in some steps only.

#include "detector/slow/counterfactual_step.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/slow/persistent_excess.h"
#include "detector/slow/slow_cause.h"
#include "detector/steps/own_profile.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kQuick = 0, kSlow = 1;  // steps
constexpr size_t kOnly[] = {0};           // ailments

// Two ranks, two steps: half of what they work is decided by the routing. In the slow step the first one needs 2 s more
// of the other half, the second one 0.5 s.
OwnProfile TwoRanks() {
  return {.ranks = 2, .steps = 2, .own = {4, 8, 4, 5}, .shared = {2, 4, 2, 2.5}, .excess = {0.1F, 2, 0.1F, 0.5}};
}

std::vector<Suspect> Suspects() {
  std::vector<Suspect> suspects;
  for (const int32_t rank : {0, 1}) suspects.push_back({.rank = rank, .last_step = 1, .slow_above_seconds = 1});
  return suspects;
}

std::vector<float> ScalesIn(int32_t step, const SlowCause& cause) {
  const OwnProfile profile = TwoRanks();
  const std::vector<Ailment> ailments = {{.cause = &cause, .profile = &profile, .last_step = 1, .latest_step = 1}};
  std::vector<float> scales;
  for (const Counterfactual::OwnTime& own : CounterfactualOf(ailments, kOnly, step).own) scales.push_back(own.scale);
  return scales;
}

TEST(CounterfactualStepTest, ARankIsAsMuchSlowerInWhatTheRoutingDecides) {
  EXPECT_EQ(ScalesIn(kSlow, {.suspects = Suspects()})[0], 0.5F);
}

TEST(CounterfactualStepTest, ARankNeedsNothingLessInStepsInWhichItIsNotSlow) {
  EXPECT_EQ(ScalesIn(kQuick, {.suspects = Suspects()}), std::vector<float>({1, 1}));
  EXPECT_EQ(ScalesIn(kSlow, {.suspects = Suspects()})[1], 1) << "half a second is not enough for it";
}

// One waits for the other in turn: what those that are slow by little still need would hold up the rest.
TEST(CounterfactualStepTest, AllRanksOfAHostThatIsSlowInAStepNeedLessInIt) {
  const SlowCause host = {.whole_host = true, .suspects = Suspects()};
  EXPECT_EQ(ScalesIn(kSlow, host), std::vector<float>({0.5F, 0.8F}));
  EXPECT_EQ(ScalesIn(kQuick, host), std::vector<float>({1, 1}));
}

TEST(CounterfactualStepTest, NoRankNeedsLessThanInItsOwnOtherSteps) {
  std::vector<Suspect> suspects = Suspects();
  suspects[0].before_seconds = 3;
  EXPECT_EQ(ScalesIn(kSlow, {.suspects = suspects})[0], 0.75F);
  suspects[0].before_seconds = 5;
  EXPECT_EQ(ScalesIn(kSlow, {.suspects = suspects})[0], 1);
}

}  // namespace
}  // namespace lockstep
