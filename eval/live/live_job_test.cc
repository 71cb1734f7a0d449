#include "eval/live/live_job.h"

#include <cstddef>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "detector/model/job_evidence.h"
#include "gtest/gtest.h"
#include "sim/capture/recording_playback.h"
#include "sim/episode.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

JobEvidence SmallRecording() {
  JobSpec job = TypicalJob(32, 3);
  job.schedule.steps = 6;
  return Simulate(job, {}, 5).evidence;
}

TEST(LiveJobTest, TheHostsOfARecordingTickAtMomentsOfTheirOwnAndShowNothingEarly) {
  const JobEvidence evidence = SmallRecording();
  const absl::StatusOr<LiveJob> job = LiveJobOf(evidence, /*stands=*/false, 7);
  const absl::StatusOr<Playback> plan = PlanRecording(evidence, "", /*stands=*/false);
  ASSERT_TRUE(job.ok() && plan.ok());
  std::set<int64_t> ahead;
  for (size_t h = 0; h < plan->hosts.size(); ++h) {
    ahead.insert(job->clock_ahead_ns[h]);
    EXPECT_EQ(job->playback.hosts[h].zero_ns, plan->hosts[h].zero_ns - job->clock_ahead_ns[h]);
  }
  EXPECT_EQ(ahead.size(), plan->hosts.size());
  EXPECT_EQ(job->end_ns, plan->ticks * kReportIntervalNanos);
  EXPECT_EQ(job->enqueue_only.size(), evidence.trace.ranks.size());
}

TEST(LiveJobTest, ARecordingThatStandsIsPlayedOn) {
  const JobEvidence evidence = SmallRecording();
  const auto moving = LiveJobOf(evidence, /*stands=*/false, 7);
  const auto standing = LiveJobOf(evidence, /*stands=*/true, 7);
  ASSERT_TRUE(moving.ok() && standing.ok());
  EXPECT_EQ(standing->end_ns - moving->end_ns, kLeastTicksStanding * kReportIntervalNanos);
}

TEST(LiveJobTest, NothingCannotBePlayed) {
  EXPECT_EQ(LiveJobOf(JobEvidence(), /*stands=*/false, 7).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace lockstep
