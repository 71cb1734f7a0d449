// What agents of a simulated job report tick by tick, and what they answer when they are asked.

#include "sim/capture/agent_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "detector/model/trace.h"
#include "proto/ingest.pb.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/episode_playback.h"
#include "sim/capture/operation_batch.h"
#include "sim/capture/playback.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

JobSpec SomeJob() {
  JobSpec job = TypicalJob(32, 3);
  job.schedule.steps = 5;
  job.workload.microbatches = 4;
  return job;
}

Episode EpisodeOf(const std::vector<FaultSpec>& faults = {}) { return Simulate(SomeJob(), faults, 5); }

// Calls `check` with every report of the job.
template <typename Check>
void ForReports(const Episode& episode, Check check) {
  AgentReports reports(PlaybackOf(episode));
  for (int32_t tick = 1; tick <= reports.ticks(); ++tick) {
    for (size_t host = 0; host < reports.hosts(); ++host) {
      wire::AgentReport report;
      if (reports.Make(tick, host, report)) check(tick, host, report);
    }
  }
}

TEST(AgentReportTest, ProgressNeverRunsBackAndEndsWithEverything) {
  const Episode episode = EpisodeOf();
  using Place = std::pair<int32_t, uint64_t>;  // rank, communicator
  std::map<Place, std::vector<uint64_t>> before;
  std::map<int32_t, uint64_t> finished;
  ForReports(episode, [&](int32_t tick, size_t, const wire::AgentReport& report) {
    EXPECT_EQ(report.sequence(), static_cast<uint64_t>(tick));
    EXPECT_EQ(report.monotonic_ns(), tick * kReportIntervalNanos + kBootNanos);
    for (const wire::ProcessReport& process : report.processes()) {
      EXPECT_LE(process.operations_finished(), process.operations_enqueued());
      EXPECT_GE(process.operations_finished(), finished[process.rank()]);
      finished[process.rank()] = process.operations_finished();
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        const std::vector<uint64_t> now = {communicator.enqueued(), communicator.started(), communicator.finished()};
        EXPECT_GE(now[0], now[1]);
        EXPECT_GE(now[1], now[2]);
        std::vector<uint64_t>& last = before[{process.rank(), communicator.id()}];
        for (size_t i = 0; i < last.size(); ++i) EXPECT_GE(now[i], last[i]);
        last = now;
        EXPECT_GE(communicator.idle_ns(), 0);
        EXPECT_GE(communicator.rank(), 0);
        EXPECT_LT(communicator.rank(), communicator.size());
      }
    }
  });
  const Trace& trace = episode.evidence.trace;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    EXPECT_EQ(finished[trace.ranks[rank].rank], trace.OperationsOf(rank).size());
  }
  for (const auto& [place, counts] : before) EXPECT_THAT(counts, ElementsAre(counts[0], counts[0], counts[0]));
}

TEST(AgentReportTest, EveryProcessIsOfItsHostAndKnowsTheWorld) {
  const Episode episode = EpisodeOf();
  const Trace& trace = episode.evidence.trace;
  ForReports(episode, [&](int32_t, size_t host, const wire::AgentReport& report) {
    std::set<int32_t> ranks;
    for (const wire::ProcessReport& process : report.processes()) {
      EXPECT_EQ(process.job(), "job-1");
      EXPECT_EQ(process.world_size(), 32);
      EXPECT_EQ(process.local_rank(), process.rank() % 8);
      EXPECT_EQ(process.state(), wire::PROCESS_STATE_RUNNING);
      ranks.insert(process.rank());
    }
    EXPECT_EQ(ranks.size(), 8u);
    EXPECT_EQ(*ranks.begin() / 8, trace.ranks[static_cast<size_t>(*ranks.begin())].host);
    EXPECT_EQ(static_cast<size_t>(*ranks.begin() / 8), host);
  });
}

TEST(AgentReportTest, WhatIsInFlightIsTheOldestThatHasNotFinished) {
  const Episode episode = EpisodeOf();
  const Trace& trace = episode.evidence.trace;
  int in_flight = 0;
  ForReports(episode, [&](int32_t tick, size_t, const wire::AgentReport& report) {
    const int64_t now_ns = tick * kReportIntervalNanos;
    for (const wire::ProcessReport& process : report.processes()) {
      const auto rank = static_cast<size_t>(process.rank());
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        if (!communicator.has_oldest_in_flight()) continue;
        ++in_flight;
        const wire::InFlight& oldest = communicator.oldest_in_flight();
        const auto operations = trace.OperationsOf(rank);
        const auto found = std::find_if(operations.begin(), operations.end(), [&](const TraceOperation& op) {
          return op.enqueue_ns == now_ns - oldest.age_ns() && op.sequence == oldest.sequence();
        });
        ASSERT_NE(found, operations.end());
        EXPECT_GT(found->end_ns, now_ns);
        EXPECT_EQ(oldest.started(), found->start_ns <= now_ns);
        EXPECT_EQ(oldest.bytes(), found->bytes);
        for (const TraceOperation& op : operations) {
          if (op.communicator == found->communicator && op.enqueue_ns < found->enqueue_ns) {
            EXPECT_LE(op.end_ns, now_ns) << "an older one would have been named";
          }
        }
      }
    }
  });
  EXPECT_GT(in_flight, 20);
}

TEST(AgentReportTest, AHangIsReportedForAWhileAndGrowsOld) {
  const Episode episode = EpisodeOf({{.kind = FaultKind::kNotEntered, .targets = {9}, .onset_step = 3}});
  AgentReports reports(PlaybackOf(episode));
  const auto hang_tick = static_cast<int32_t>(episode.truth.hang_ns / kReportIntervalNanos) + 1;
  EXPECT_GE(reports.ticks(), hang_tick + kTicksAfterEnd - 1);
  int64_t oldest_ns = 0;
  ForReports(episode, [&](int32_t tick, size_t, const wire::AgentReport& report) {
    if (tick != reports.ticks()) return;
    for (const wire::ProcessReport& process : report.processes()) {
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        if (!communicator.has_oldest_in_flight()) continue;
        oldest_ns = std::max(oldest_ns, communicator.oldest_in_flight().age_ns());
        EXPECT_GT(communicator.idle_ns(), 20 * kReportIntervalNanos);
      }
    }
  });
  EXPECT_GT(oldest_ns, (kTicksAfterEnd - 2) * kReportIntervalNanos);
}

TEST(AgentReportTest, AllThatIsInFlightIsToldOnceARankStands) {
  const Episode episode = EpisodeOf({{.kind = FaultKind::kDeadlock, .targets = {9}, .onset_step = 3}});
  const Trace& trace = episode.evidence.trace;
  AgentReports reports(PlaybackOf(episode));
  std::map<int32_t, size_t> told;  // by rank, in the last tick
  ForReports(episode, [&](int32_t tick, size_t, const wire::AgentReport& report) {
    for (const wire::ProcessReport& process : report.processes()) {
      size_t in_flight = 0;
      for (const wire::CommunicatorReport& communicator : process.communicators()) {
        if (!communicator.has_oldest_in_flight()) continue;
        const wire::InFlight& oldest = communicator.oldest_in_flight();
        EXPECT_EQ(oldest.inside_ns() > 0, oldest.started());
        EXPECT_LE(oldest.inside_ns(), oldest.age_ns());
        if (tick == reports.ticks()) {
          EXPECT_TRUE(communicator.has_further_in_flight());
        }
        in_flight += 1 + static_cast<size_t>(communicator.further_in_flight().operations_size());
        EXPECT_EQ(communicator.further_in_flight().left_out(), 0u);
      }
      told[process.rank()] = in_flight;
    }
  });
  for (const auto& [rank, count] : told) {
    const auto operations = trace.OperationsOf(static_cast<size_t>(rank));
    const auto open =
        std::count_if(operations.begin(), operations.end(), [](const TraceOperation& op) { return !op.finished(); });
    EXPECT_EQ(count, static_cast<size_t>(open)) << "rank " << rank;
  }
}

TEST(AgentReportTest, AnUnreachableHostFallsSilentAndADeadProcessIsGone) {
  const Episode lost = EpisodeOf({{.kind = FaultKind::kMachineUnreachable, .targets = {2}, .onset_step = 3}});
  std::map<size_t, int32_t> last;
  ForReports(lost, [&](int32_t tick, size_t host, const wire::AgentReport&) { last[host] = tick; });
  EXPECT_LE(last[2], lost.truth.hang_ns / kReportIntervalNanos);
  EXPECT_EQ(last[0], last[3]);
  EXPECT_GT(last[0], last[2] + 20);

  const Episode dead = EpisodeOf({{.kind = FaultKind::kProcessDead, .targets = {9}, .onset_step = 3}});
  std::map<int32_t, std::set<bool>> gone;
  ForReports(dead, [&](int32_t tick, size_t, const wire::AgentReport& report) {
    const bool after = tick * kReportIntervalNanos >= dead.truth.hang_ns;
    for (const wire::ProcessReport& process : report.processes()) {
      const bool is_gone = process.state() == wire::PROCESS_STATE_GONE;
      EXPECT_EQ(is_gone, after && process.rank() == 9);
      gone[process.rank()].insert(is_gone);
    }
  });
  EXPECT_EQ(gone[9].size(), 2u) << "running first, gone later";
}

TEST(AgentReportTest, CountersAndKernelEventsComeOnceAndInTime) {
  JobSpec job = SomeJob();
  job.recording.counters = true;
  const std::vector<FaultSpec> faults = {{.kind = FaultKind::kGpuLost, .targets = {9}, .onset_step = 3}};
  const Episode episode = Simulate(job, faults, 5);
  size_t values = 0, events = 0;
  ForReports(episode, [&](int32_t tick, size_t host, const wire::AgentReport& report) {
    for (const wire::MetricBlock& block : report.metrics()) {
      ASSERT_EQ(block.metrics_size(), block.values_size());
      values += static_cast<size_t>(block.values_size());
      EXPECT_LE(block.monotonic_ns() - kBootNanos, tick * kReportIntervalNanos);
    }
    for (const wire::KernelEvent& event : report.kernel_events()) {
      EXPECT_EQ(host, 1u);
      EXPECT_EQ(event.code(), 79);
      EXPECT_EQ(event.device(), "gpu1");
      ++events;
    }
  });
  EXPECT_EQ(events, 1u);
  size_t sampled = 0;
  const int64_t last_ns = AgentReports(PlaybackOf(episode)).ticks() * kReportIntervalNanos;
  for (const MetricSeries& series : episode.evidence.metrics.series) {
    sampled += static_cast<size_t>(std::count_if(series.time_ms.begin(), series.time_ms.end(),
                                                 [&](int64_t time_ms) { return time_ms * 1'000'000 <= last_ns; }));
  }
  EXPECT_NEAR(static_cast<double>(values), static_cast<double>(sampled), 0.01 * static_cast<double>(sampled));
}

wire::Command PullAll(const std::string& job) {
  wire::Command command;
  command.set_id(77);
  command.set_job(job);
  command.mutable_pull_operations()->set_newest_ns(int64_t{1} << 60);
  return command;
}

size_t Pulled(const wire::CommandResult& result) {
  size_t operations = 0;
  for (const wire::PulledOperations& pulled : result.pulled()) {
    operations += static_cast<size_t>(pulled.operations().kinds_size());
  }
  return operations;
}

TEST(AgentAnswerTest, GivesWhatWasAskedForAndCountsWhatDoesNotFit) {
  const Episode episode = EpisodeOf();
  const Trace& trace = episode.evidence.trace;
  const AgentReports reports(PlaybackOf(episode));
  const auto answer = [&](const wire::Command& command) {
    wire::CommandResult result;
    reports.Answer(1, command, reports.ticks(), result);
    EXPECT_EQ(result.id(), 77u);
    return result;
  };
  size_t all = 0;
  for (size_t rank = 8; rank < 16; ++rank) all += trace.OperationsOf(rank).size();
  const wire::CommandResult whole = answer(PullAll("job-1"));
  EXPECT_EQ(whole.outcome(), wire::CommandResult::OUTCOME_DONE);
  EXPECT_EQ(Pulled(whole), all);
  EXPECT_EQ(whole.left_out(), 0u);

  wire::Command one_rank = PullAll("job-1");
  one_rank.mutable_pull_operations()->add_ranks(10);
  one_rank.mutable_pull_operations()->add_ranks(31);  // of another host
  EXPECT_EQ(Pulled(answer(one_rank)), trace.OperationsOf(10).size());

  wire::Command one_communicator = PullAll("job-1");
  one_communicator.mutable_pull_operations()->add_communicators(whole.pulled(0).communicator());
  const wire::CommandResult of_one = answer(one_communicator);
  EXPECT_GT(Pulled(of_one), 0u);
  for (const wire::PulledOperations& pulled : of_one.pulled()) {
    EXPECT_EQ(pulled.communicator(), whole.pulled(0).communicator());
  }

  wire::Command few = PullAll("job-1");
  few.mutable_pull_operations()->set_max_bytes(24 * 100);
  const wire::CommandResult some = answer(few);
  EXPECT_EQ(Pulled(some), 100u);
  EXPECT_EQ(Pulled(some) + some.left_out(), all);

  wire::Command newest = PullAll("job-1");
  newest.mutable_pull_operations()->set_newest_ns(0);
  EXPECT_EQ(Pulled(answer(newest)), 0u);
}

TEST(AgentAnswerTest, RefusesWhatASimulatedHostCannotDo) {
  const Episode episode = EpisodeOf();
  const AgentReports reports(PlaybackOf(episode));
  wire::Command nothing = PullAll("job-1");
  nothing.clear_pull_operations();
  for (const wire::Command& command : {PullAll("another job"), nothing}) {
    wire::CommandResult result;
    reports.Answer(0, command, 3, result);
    EXPECT_EQ(result.outcome(), wire::CommandResult::OUTCOME_REFUSED);
    EXPECT_EQ(result.error(), "a simulated host can only be asked for operations");
    EXPECT_EQ(result.pulled_size(), 0);
  }
}

TEST(OperationBatchTest, DeltasAddUpToTheOperations) {
  const Episode episode = EpisodeOf();
  const Trace& trace = episode.evidence.trace;
  std::map<int32_t, std::vector<const TraceOperation*>> by_communicator;
  for (const TraceOperation& op : trace.OperationsOf(3)) by_communicator[op.communicator].push_back(&op);
  for (const auto& [communicator, operations] : by_communicator) {
    wire::OperationBatch batch;
    AppendToBatch(operations, batch);
    int64_t sequence = 0, enqueued_ns = 0;
    ASSERT_EQ(batch.kinds_size(), static_cast<int>(operations.size()));
    for (int i = 0; i < batch.kinds_size(); ++i) {
      const TraceOperation& op = *operations[static_cast<size_t>(i)];
      sequence += batch.sequence_deltas(i);
      enqueued_ns += batch.enqueued_deltas_ns(i);
      EXPECT_EQ(static_cast<uint64_t>(sequence), op.sequence);
      EXPECT_EQ(enqueued_ns, op.enqueue_ns + kBootNanos);
      EXPECT_EQ(batch.start_offsets_ns(i), op.start_ns - op.enqueue_ns);
      EXPECT_EQ(batch.duration_ns(i), op.duration_ns());
      EXPECT_EQ(batch.bytes(i), op.bytes);
      EXPECT_EQ(batch.peers(i), op.peer);
      EXPECT_EQ(batch.kinds(i), static_cast<uint32_t>(op.kind));
    }
  }
}

}  // namespace
}  // namespace lockstep
