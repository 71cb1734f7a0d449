#include "eval/metamorphic/recording_replay.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/model/trace.h"
#include "eval/metamorphic/planted_slowness.h"
#include "eval/testing/small_trace.h"
#include "gtest/gtest.h"
#include "sim/episode.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

constexpr int32_t kSteps = 24;

void ExpectSameTimes(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.operations.size(), b.operations.size());
  for (size_t i = 0; i < a.operations.size(); ++i) {
    ASSERT_EQ(a.operations[i].enqueue_ns, b.operations[i].enqueue_ns) << i;
    ASSERT_EQ(a.operations[i].start_ns, b.operations[i].start_ns) << i;
    ASSERT_EQ(a.operations[i].end_ns, b.operations[i].end_ns) << i;
  }
}

// Of jobs with pipelines, experts and overlap as well.
TEST(RecordingReplayTest, TheSameWorkGivesTheSameRecording) {
  for (int32_t dimensions = 1; dimensions <= 6; ++dimensions) {
    JobSpec job = TypicalJob(64, dimensions);
    job.schedule.steps = 8;
    const Trace trace = Simulate(job, {}, 3).evidence.trace;
    const PlayedRecording played = RecordingReplay(trace).Play([](size_t, int32_t) { return 1; });
    EXPECT_TRUE(played.complete) << dimensions;
    ExpectSameTimes(trace, played.trace);
  }
}

TEST(RecordingReplayTest, AStepTakesLongerByWhatItsLastRankDoesMore) {
  const std::vector<double> own_ms = {100, 90, 90, 90, 90, 90};
  const Trace trace = DataParallelTrace(own_ms, kSteps, /*noise=*/0, 1);
  constexpr int32_t kFirstStep = 10;
  // 90 ms times 1.5 are 35 ms more than the latest rank took.
  const PlayedRecording played =
      RecordingReplay(trace).Play([](size_t rank, int32_t step) { return rank == 3 && step >= kFirstStep ? 1.5 : 1; });
  ASSERT_TRUE(played.complete);
  for (int32_t step = 2; step < kSteps - 1; ++step) {
    EXPECT_NEAR(played.longer_seconds[static_cast<size_t>(step)], step >= kFirstStep ? 0.035 : 0, 1e-4) << step;
  }
}

TEST(RecordingReplayTest, LessWorkOfTheLastRankMakesRoomUpToTheNextOne) {
  const Trace trace = DataParallelTrace({130, 90, 90, 90, 90, 90}, kSteps, /*noise=*/0, 1);
  const PlayedRecording played = RecordingReplay(trace).Play([](size_t rank, int32_t) { return rank == 0 ? 0.5 : 1; });
  ASSERT_TRUE(played.complete);
  EXPECT_NEAR(played.longer_seconds[kSteps / 2], -0.04, 1e-4);
}

TEST(PlantedSlownessTest, IsPlantedWhereItCostsEnoughOnNobodyWhoIsSpared) {
  const Trace trace = DataParallelTrace(std::vector<double>(8, 100), kSteps, /*noise=*/0.01, 1);
  const RecordingReplay replay(trace);
  Random random(4);
  std::set<std::string> all_but_one(trace.hosts.begin(), trace.hosts.end());
  all_but_one.erase(trace.hosts[5]);
  const std::optional<PlantedSlowness> planted = PlantSlowness(replay, all_but_one, 0.04, random);
  ASSERT_TRUE(planted.has_value());
  EXPECT_EQ(planted->rank, 5u);
  // A fifth of 100 ms, less what the latest of eight noisy ranks is late anyway, of 122 ms.
  EXPECT_NEAR(planted->slowdown_fraction, 0.15, 0.02);
  EXPECT_FALSE(PlantSlowness(replay, all_but_one, 0.5, random).has_value());
}

}  // namespace
}  // namespace lockstep
