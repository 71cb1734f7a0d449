#include "eval/live/live_agents.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "eval/live/live_job.h"
#include "eval/live/played_episode.h"
#include "gtest/gtest.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

JobSpec SmallJob() {
  JobSpec job = TypicalJob(32, 3);
  job.schedule.steps = 6;
  job.workload.microbatches = 4;
  return job;
}

PlayedEpisode Played(const std::vector<FaultSpec>& faults, const RecorderErrors& errors = {}) {
  return MakePlayedEpisode(Simulate(SmallJob(), faults, 5), errors, 9);
}

std::vector<MadeReport> AllReports(const PlayedEpisode& played) {
  const LiveJob job = LiveJobOf(played);
  LiveAgents agents(job);
  std::vector<MadeReport> all;
  for (int64_t now_ns = 0; now_ns <= played.end_ns + kReportIntervalNanos; now_ns += kNanosPerSecond / 2) {
    agents.MakeUntil(now_ns, [&](MadeReport made) {
      EXPECT_LE(made.made_ns, now_ns);
      all.push_back(std::move(made));
    });
  }
  return all;
}

TEST(PlayedEpisodeTest, HostsTickAtMomentsOfTheirOwnAndGapsStay) {
  const Episode episode = Simulate(SmallJob(), {}, 5);
  const PlayedEpisode played = MakePlayedEpisode(episode, {}, 9);
  const Trace& before = episode.evidence.trace;
  const Trace& after = played.seen.evidence.trace;
  const std::set<int64_t> ahead(played.clock_ahead_ns.begin(), played.clock_ahead_ns.end());
  EXPECT_EQ(ahead.size(), before.hosts.size());
  for (size_t r = 0; r < before.ranks.size(); ++r) {
    const int64_t shift_ns = played.clock_ahead_ns[static_cast<size_t>(before.ranks[r].host)];
    EXPECT_GE(shift_ns, 0);
    EXPECT_LT(shift_ns, kReportIntervalNanos);
    for (size_t i = before.first_operation[r]; i < before.first_operation[r + 1]; ++i) {
      ASSERT_EQ(after.operations[i].end_ns - before.operations[i].end_ns, shift_ns);
      ASSERT_EQ(after.operations[i].enqueue_ns - before.operations[i].enqueue_ns, shift_ns);
    }
  }
}

TEST(PlayedEpisodeTest, TheRecordingOfAHangSaysWhenItWasLookedAt) {
  PlayedEpisode played = Played({{.kind = FaultKind::kMachineUnreachable, .targets = {1}, .onset_step = 3}});
  const int64_t end_ns = played.end_ns;
  const std::vector<int64_t> ahead_ns = played.clock_ahead_ns;
  const Trace trace = TakeRecording(std::move(played)).trace;
  for (const TraceRank& rank : trace.ranks) {
    if (rank.host == 1) {
      EXPECT_EQ(rank.last_seen_ns, kNoTime);
    } else {
      EXPECT_EQ(rank.last_seen_ns, end_ns + ahead_ns[static_cast<size_t>(rank.host)]);
    }
  }
}

TEST(LiveAgentsTest, EveryFinishedOperationIsReportedOnce) {
  const PlayedEpisode played = Played({});
  size_t reported = 0;
  for (const MadeReport& made : AllReports(played)) {
    for (const wire::ProcessReport& process : made.report.processes()) {
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        reported += static_cast<size_t>(communicator.operations().kinds_size());
      }
    }
  }
  EXPECT_EQ(reported, played.seen.evidence.trace.operations.size());
}

TEST(LiveAgentsTest, ACommandIsAnsweredOnceInTheNextReport) {
  const PlayedEpisode played = Played({});
  const LiveJob job = LiveJobOf(played);
  LiveAgents agents(job);
  std::map<size_t, int> answers;
  const auto take = [&](const MadeReport& made) { answers[made.host] += made.report.command_results_size(); };
  agents.MakeUntil(3 * kNanosPerSecond, take);
  wire::Command command;
  command.set_id(1);
  command.set_job("job-1");
  command.mutable_pull_operations()->set_newest_ns(2 * kNanosPerSecond);
  agents.Ask("node-00002", command);
  agents.Ask("nobody", command);
  agents.MakeUntil(4 * kNanosPerSecond, take);
  EXPECT_EQ(answers[2], 1);
  EXPECT_EQ(agents.pulls(), 1u);
  EXPECT_GT(agents.pulled_bytes(), 1000u);
  EXPECT_EQ(agents.forgotten_commands(), 1u);
  agents.MakeUntil(6 * kNanosPerSecond, take);
  EXPECT_EQ(answers[2], 1);
  EXPECT_EQ(answers[1], 0);
}

TEST(LiveAgentsTest, AMachineIsSilentFromTheMomentItCannotBeReached) {
  const PlayedEpisode played = Played({{.kind = FaultKind::kMachineUnreachable, .targets = {1}, .onset_step = 3}});
  std::map<size_t, int64_t> newest_ns;
  for (const MadeReport& made : AllReports(played)) newest_ns[made.host] = made.made_ns;
  EXPECT_LT(newest_ns[1], played.truth.hang_ns);
  EXPECT_GE(newest_ns[1], played.truth.hang_ns - kReportIntervalNanos);
  EXPECT_GT(newest_ns[0], played.truth.hang_ns + 20 * kNanosPerSecond);
}

TEST(LiveAgentsTest, AProcessIsGoneFromItsDeathOn) {
  const PlayedEpisode played = Played({{.kind = FaultKind::kProcessDead, .targets = {9}, .onset_step = 3}});
  for (const MadeReport& made : AllReports(played)) {
    for (const wire::ProcessReport& process : made.report.processes()) {
      const bool gone = process.state() == wire::PROCESS_STATE_GONE;
      EXPECT_EQ(gone, process.rank() == 9 && made.made_ns >= played.truth.hang_ns) << process.rank();
    }
  }
}

TEST(LiveAgentsTest, WithoutBeginsNobodyCanSayWhetherAnOperationHasBegun) {
  const PlayedEpisode played =
      Played({{.kind = FaultKind::kNotEntered, .targets = {9}, .onset_step = 3}}, {.enqueue_only_share = 1});
  int in_flight = 0;
  for (const MadeReport& made : AllReports(played)) {
    for (const wire::ProcessReport& process : made.report.processes()) {
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        EXPECT_EQ(communicator.started(), communicator.finished());
        if (!communicator.has_oldest_in_flight()) continue;
        ++in_flight;
        EXPECT_FALSE(communicator.oldest_in_flight().started());
        EXPECT_EQ(communicator.oldest_in_flight().timing_quality(), static_cast<uint32_t>(TimingQuality::kHostEnqueue));
      }
    }
  }
  EXPECT_GT(in_flight, 100);
}

}  // namespace
}  // namespace lockstep
