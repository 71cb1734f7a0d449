#include "detector/patterns/trace_duties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "detector/model/trace.h"
#include "detector/patterns/pattern_fleet.h"
#include "detector/patterns/rank_patterns.h"
#include "detector/testing/scripted_job.h"

namespace lockstep {
namespace {

using ::testing::Each;

PatternFleet FleetOf(const std::vector<int32_t>& ranks) {
  PatternFleet fleet;
  for (const int32_t rank : ranks) {
    RankPatterns patterns;
    patterns.rank = rank;
    fleet.Add(patterns);
  }
  return fleet;
}

std::vector<int32_t> Duties(const Trace& trace, const std::vector<int32_t>& ranks) {
  PatternFleet fleet = FleetOf(ranks);
  StateDuties(trace, fleet);
  std::vector<int32_t> duties;
  for (const FleetWorker& worker : fleet.workers()) duties.push_back(worker.duty);
  return duties;
}

TEST(TraceDutiesTest, StagesOfAPipelineAreDuties) {
  Random random(7);
  const ScriptedRun run = RunScript(RandomJob(/*tensor=*/2, /*data=*/2, /*pipeline=*/2, /*steps=*/6, random),
                                    ScriptedRecords::kFull, random);
  const std::vector<int32_t> duties = Duties(run.trace, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(std::vector(duties.begin(), duties.begin() + 4), Each(duties[0]));
  EXPECT_THAT(std::vector(duties.begin() + 4, duties.end()), Each(duties[7]));
  EXPECT_GE(duties[0], 0);
  EXPECT_GE(duties[7], 0);
  EXPECT_NE(duties[0], duties[7]);
}

TEST(TraceDutiesTest, OfARankWithoutRecordsNothingIsKnown) {
  Random random(7);
  const ScriptedRun run = RunScript(RandomJob(2, 2, 2, 6, random), ScriptedRecords::kFull, random);
  EXPECT_EQ(Duties(run.trace, {0, 99})[1], -1);
}

TEST(TraceDutiesTest, WithoutRecordsOrPeersNothingIsKnown) {
  EXPECT_THAT(Duties(Trace(), {0, 1}), Each(-1));
  Random random(7);
  const ScriptedRun alone = RunScript(RandomJob(1, 1, 2, 6, random), ScriptedRecords::kFull, random);
  EXPECT_THAT(Duties(alone.trace, {0, 1}), Each(-1)) << "a pipeline of single ranks has no peers";
}

}  // namespace
}  // namespace lockstep
