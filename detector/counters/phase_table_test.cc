#include "detector/counters/phase_table.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kMachines = 64;
constexpr double kGain = 0.01;

TEST(PhaseTableTest, LevelsApartArePhasesAndTheSameLevelIsTheSamePhase) {
  PhaseTable phases;
  const PhaseTable::Match busy = phases.Enter(0, 600, 10, kMachines, kGain);
  const PhaseTable::Match waiting = phases.Enter(0, 420, 10, kMachines, kGain);
  EXPECT_TRUE(busy.opened);
  EXPECT_TRUE(waiting.opened);
  EXPECT_NE(busy.phase, waiting.phase);
  const PhaseTable::Match again = phases.Enter(0, 610, 10, kMachines, kGain);
  EXPECT_EQ(again.phase, busy.phase);
  EXPECT_FALSE(again.opened);
  EXPECT_EQ(phases.main_phase(), busy.phase);
  EXPECT_NEAR(phases.Range(0), 180, 2);
}

// What is measured is the distance to the median in units of how far apart machines are: within that, a level is none.
TEST(PhaseTableTest, ALevelWithinTheDistancesBetweenMachinesIsNoNewOne) {
  PhaseTable wide, narrow;
  const int of_wide = wide.Enter(0, 40'000, 6'000, 10'000, kGain).phase;
  EXPECT_EQ(wide.Enter(0, 45'000, 6'000, 10'000, kGain).phase, of_wide);
  EXPECT_TRUE(wide.Enter(0, 52'000, 6'000, 10'000, kGain).opened);
  narrow.Enter(0, 40'000, 600, 10'000, kGain);
  EXPECT_TRUE(narrow.Enter(0, 45'000, 600, 10'000, kGain).opened);
}

TEST(PhaseTableTest, NoPhaseBelongsToTwoRegimes) {
  PhaseTable phases;
  const int works = phases.Enter(0, 1.0, 0.01, kMachines, kGain).phase;
  const PhaseTable::Match hangs = phases.Enter(2, 1.0, 0.01, kMachines, kGain);
  EXPECT_TRUE(hangs.opened);
  EXPECT_NE(hangs.phase, works);
  EXPECT_EQ(phases.Range(0), 0);
  // However long the job stands, the phases in which it works tell about machines.
  for (int i = 0; i < 100; ++i) phases.Enter(2, 1.0, 0.01, kMachines, kGain);
  EXPECT_EQ(phases.main_phase(), works);
}

TEST(PhaseTableTest, ANewPhaseInheritsTheScaleOfTheMainOneInProportion) {
  PhaseTable phases;
  for (int i = 0; i < 50; ++i) phases.Enter(0, 600, 30, kMachines, kGain);
  const PhaseTable::Match idle = phases.Enter(0, 300, 1, kMachines, kGain);
  ASSERT_TRUE(idle.opened);
  EXPECT_NEAR(phases.at(idle.phase).spread, 15, 2);
}

TEST(PhaseTableTest, MoreLevelsThanItHoldsForgetWhatWasNotSeenForLongest) {
  PhaseTable phases;
  const auto enter = [&](int level) { return phases.Enter(0, 100.0 * level, 1, kMachines, kGain); };
  for (int level = 1; level <= PhaseTable::kPhases; ++level) EXPECT_TRUE(enter(level).opened);
  EXPECT_FALSE(enter(1).opened);
  EXPECT_TRUE(enter(PhaseTable::kPhases + 1).opened);
  EXPECT_FALSE(enter(1).opened);
  EXPECT_TRUE(enter(2).opened);
}

TEST(PhaseTableTest, CentersAndSpreadsFollowWhatIsSeen) {
  PhaseTable phases;
  Random random(1);
  int phase = 0;
  for (int i = 0; i < 2000; ++i) {
    const double median = 600 + 0.001 * i + random.Gaussian();
    phase = phases.Enter(0, median, 10 + random.Gaussian(), kMachines, kGain).phase;
  }
  EXPECT_NEAR(phases.at(phase).center, 601.9, 1);
  EXPECT_NEAR(phases.at(phase).spread, 10, 1);
  EXPECT_EQ(phases.at(phase).ticks, 2000);
}

}  // namespace
}  // namespace lockstep
