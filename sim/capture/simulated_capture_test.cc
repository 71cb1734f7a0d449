#include "sim/capture/simulated_capture.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "detector/model/trace.h"
#include "gtest/gtest.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/agent_reports.h"
#include "sim/capture/episode_playback.h"
#include "sim/capture/playback.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

JobSpec SmallJob() {
  JobSpec job = TypicalJob(32, 3);
  job.schedule.steps = 5;
  job.workload.microbatches = 4;
  return job;
}

Episode Hung(FaultKind kind, int32_t target) {
  const FaultSpec fault{.kind = kind, .targets = {target}, .onset_step = 3};
  return Simulate(SmallJob(), {&fault, 1}, 5);
}

std::vector<wire::CaptureEntry> EntriesOf(const Episode& episode) {
  std::vector<wire::CaptureEntry> entries;
  const absl::Status status = VisitCaptureEntries(episode, 5, [&](const wire::CaptureEntry& entry) {
    entries.push_back(entry);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok());
  return entries;
}

TEST(SimulatedCaptureTest, EveryFinishedOperationIsReportedOnce) {
  const Episode episode = Simulate(SmallJob(), {}, 5);
  using Key = std::tuple<int32_t, uint64_t, int64_t, int64_t, int64_t>;  // rank, communicator, enqueue, sequence, peer
  std::set<Key> seen;
  size_t reported = 0;
  for (const wire::CaptureEntry& entry : EntriesOf(episode)) {
    for (const wire::ProcessReport& process : entry.input().report().processes()) {
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        const wire::OperationBatch& batch = communicator.operations();
        int64_t enqueue_ns = 0;
        int64_t sequence = 0;
        for (int i = 0; i < batch.kinds_size(); ++i) {
          enqueue_ns += batch.enqueued_deltas_ns(i);
          sequence += batch.sequence_deltas(i);
          ++reported;
          const int64_t peer_and_kind = batch.peers(i) * 100 + batch.kinds(i);
          EXPECT_TRUE(seen.insert({process.rank(), communicator.id(), enqueue_ns, sequence, peer_and_kind}).second);
          EXPECT_LE(enqueue_ns + batch.start_offsets_ns(i) + batch.duration_ns(i),
                    entry.input().report().monotonic_ns());
        }
      }
    }
  }
  EXPECT_EQ(reported, episode.evidence.trace.operations.size());
}

TEST(SimulatedCaptureTest, TimeRisesAndSequencesHaveNoHoles) {
  int64_t last_ns = 0;
  std::map<std::string, uint64_t> sequences;
  for (const wire::CaptureEntry& entry : EntriesOf(Hung(FaultKind::kNotEntered, 9))) {
    const int64_t wall_ns = entry.has_input()       ? entry.input().received_wall_ns()
                            : entry.has_watermark() ? entry.watermark().wall_ns()
                                                    : entry.reset().wall_ns();
    EXPECT_GE(wall_ns, last_ns);
    last_ns = wall_ns;
    if (entry.has_input()) {
      EXPECT_EQ(entry.input().report().sequence(), ++sequences[entry.input().host()]);
    }
  }
}

TEST(SimulatedCaptureTest, AHangStaysInFlightAndGrowsOlder) {
  const std::vector<wire::CaptureEntry> entries = EntriesOf(Hung(FaultKind::kGpuStuck, 9));
  std::map<int32_t, int64_t> age_ns;
  for (const wire::CaptureEntry& entry : entries) {
    for (const wire::ProcessReport& process : entry.input().report().processes()) {
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        if (!communicator.has_oldest_in_flight()) continue;
        age_ns[process.rank()] = std::max(age_ns[process.rank()], communicator.oldest_in_flight().age_ns());
      }
    }
  }
  EXPECT_EQ(age_ns.size(), 32u);
  for (const auto& [rank, age] : age_ns) EXPECT_GT(age, 20 * kReportIntervalNanos) << rank;
}

TEST(SimulatedCaptureTest, AnUnreachableMachineSendsNothingMore) {
  const Episode episode = Hung(FaultKind::kMachineUnreachable, 1);
  std::map<std::string, int> reports;
  for (const wire::CaptureEntry& entry : EntriesOf(episode)) {
    if (entry.has_input()) ++reports[entry.input().host()];
  }
  EXPECT_LE(reports["node-00001"], episode.truth.hang_ns / kReportIntervalNanos);
  EXPECT_GT(reports["node-00000"], reports["node-00001"] + 20);
}

TEST(SimulatedCaptureTest, ADeadProcessIsReportedGone) {
  int gone = 0;
  for (const wire::CaptureEntry& entry : EntriesOf(Hung(FaultKind::kProcessDead, 9))) {
    for (const wire::ProcessReport& process : entry.input().report().processes()) {
      if (process.state() != wire::PROCESS_STATE_GONE) continue;
      ++gone;
      EXPECT_EQ(process.rank(), 9);
    }
  }
  EXPECT_GT(gone, 20);
}

TEST(AgentReportsTest, GivesTheOperationsItIsAskedFor) {
  const Episode episode = Simulate(SmallJob(), {}, 5);
  AgentReports reports(PlaybackOf(episode));
  wire::AgentReport report;
  for (int32_t tick = 1; tick <= reports.ticks(); ++tick) ASSERT_TRUE(reports.Make(tick, 1, report));
  wire::Command command;
  command.set_id(7);
  command.set_job("job-1");
  command.mutable_pull_operations()->add_ranks(9);
  command.mutable_pull_operations()->set_newest_ns(2 * kReportIntervalNanos);
  wire::CommandResult result;
  reports.Answer(1, command, reports.ticks(), result);
  EXPECT_EQ(result.id(), 7u);
  EXPECT_EQ(result.outcome(), wire::CommandResult::OUTCOME_DONE);
  int operations = 0;
  for (const wire::PulledOperations& pulled : result.pulled()) {
    EXPECT_EQ(pulled.rank(), 9);
    operations += pulled.operations().kinds_size();
  }
  EXPECT_GT(operations, 50);
  EXPECT_LT(static_cast<size_t>(operations), episode.evidence.trace.OperationsOf(9).size());

  command.mutable_pull_operations()->set_max_bytes(240);
  wire::CommandResult small;
  reports.Answer(1, command, reports.ticks(), small);
  EXPECT_EQ(small.left_out(), static_cast<uint64_t>(operations - 10));

  command.set_job("another");
  wire::CommandResult refused;
  reports.Answer(1, command, reports.ticks(), refused);
  EXPECT_EQ(refused.outcome(), wire::CommandResult::OUTCOME_REFUSED);
}

}  // namespace
}  // namespace lockstep
