#include "collector/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"
#include "collector/convert/convert.h"
#include "collector/replay/replay.h"
#include "collector/testing/report_builder.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class FakeLog final : public InputLog {
 public:
  bool Append(LogItem item) override {
    if (!healthy_) return false;
    entries.push_back(std::move(item.entry));
    return true;
  }
  bool healthy() const override { return healthy_; }

  bool healthy_ = true;
  std::vector<wire::CaptureEntry> entries;
};

class FakeAlerts final : public AlertSink {
 public:
  void Announce(const IncidentEvent& event) override { events.push_back(event); }
  std::vector<IncidentEvent> events;
};

class JobTableTest : public testing::Test {
 protected:
  JobTable MakeTable() { return JobTable(options_, clock_, {log_, alerts_, index_, metrics_, Record()}); }

  std::function<bool(const std::string&, const wire::Command&)> Record() {
    return [this](const std::string& host, const wire::Command& command) {
      commands_.emplace_back(host, command);
      return true;
    };
  }

  static JobSlice Slice(const std::string& host, wire::AgentReport report) {
    JobSlice slice;
    slice.input.set_job(report.processes_size() > 0 ? report.processes(0).job() : "");
    slice.input.set_host(host);
    *slice.input.mutable_report() = std::move(report);
    ConvertLosses losses;
    slice.report = *ToHostReport(slice.input, losses);
    return slice;
  }

  // What the agent of `host` answers to what was asked of it: its newest operations, or that recorders watch.
  void Answer(const std::string& host, wire::AgentReport& report) {
    const wire::AgentReport now = report;
    for (const auto& [to, command] : commands_) {
      if (to != host) continue;
      wire::CommandResult& result = *report.add_command_results();
      result.set_id(command.id());
      result.set_job(command.job());
      result.set_outcome(wire::CommandResult::OUTCOME_DONE);
      if (!command.has_pull_operations()) continue;
      const std::vector<wire::AgentReport>& held = held_[host];
      for (size_t i = held.size() - std::min(held.size(), kHeldReports); i < held.size(); ++i) AddHeld(held[i], result);
      AddHeld(now, result);
    }
    held_[host].push_back(now);
    std::erase_if(commands_, [&host](const auto& command) { return command.first == host; });
  }

  static void AddHeld(const wire::AgentReport& report, wire::CommandResult& result) {
    for (const wire::ProcessReport& process : report.processes()) {
      wire::PulledOperations& pulled = *result.add_pulled();
      pulled.set_rank(process.rank());
      pulled.set_process_start_ticks(process.process_start_ticks());
      pulled.set_communicator(process.communicators(0).id());
      *pulled.mutable_operations() = process.communicators(0).operations();
    }
  }

  // All processes of that job are gone, by a signal or else with exit code 0. Signal 9 hits rank 1 first, and its
  // launcher asks the others to end.
  void End(JobTable& table, int second, int signal) {
    for (int host = 0; host < 2; ++host) {
      TestRanks ranks;
      ranks.first_rank = 2 * host;
      ranks.ranks = 2;
      ranks.first_step = 1 + 10 * second;
      ranks.steps = 1;
      wire::AgentReport report = MakeTestReport(static_cast<uint64_t>(second) + 1, ranks);
      for (wire::ProcessReport& process : *report.mutable_processes()) {
        const bool first = process.rank() == 1;
        process.set_state(wire::PROCESS_STATE_GONE);
        process.mutable_end()->set_source(wire::ProcessEnd::SOURCE_PIDFD);
        process.mutable_end()->set_signal(signal == 9 && !first ? 15 : signal);
        process.mutable_end()->set_age_ns(first ? kNanosPerSecond : kNanosPerSecond / 10);
      }
      table.Observe(Slice("node-" + std::to_string(host), std::move(report)));
    }
    clock_.Advance(kNanosPerSecond / 2);
    table.Evaluate();
  }

  // One second of a job of two hosts with two ranks each: ten steps of all ranks, reported, and two evaluations.
  void RunSecond(JobTable& table, int second, int slow_rank = -1, int life = 0) {
    for (int host = 0; host < 2; ++host) {
      const std::string name = "node-" + std::to_string(host);
      TestRanks ranks;
      ranks.first_rank = 2 * host;
      ranks.ranks = 2;
      ranks.first_step = 1 + 10 * second;
      ranks.slow_rank = slow_rank;
      if (slow_rank >= 0) {
        // The others wait for it in the collective, from which all leave together.
        ranks.own_ns = kTestStepNanos / 5;
        ranks.slow_own_ns = kTestStepNanos * 9 / 10;
      }
      wire::AgentReport report = MakeTestReport(static_cast<uint64_t>(second) + 1, ranks);
      for (wire::ProcessReport& process : *report.mutable_processes()) {
        process.set_process_start_ticks(process.process_start_ticks() + static_cast<uint64_t>(life));
      }
      Answer(name, report);
      table.Observe(Slice(name, std::move(report)));
    }
    for (int i = 0; i < 2; ++i) {
      clock_.Advance(kNanosPerSecond / 2);
      table.Evaluate();
    }
  }

  absl::Status VisitLog(const std::function<absl::Status(const wire::CaptureEntry&)>& visit) const {
    for (const wire::CaptureEntry& entry : log_.entries) {
      if (absl::Status status = visit(entry); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // A life of the collector in which rank 2 becomes slow; the second after its last one.
  int RunLifeWithASlowRank() {
    JobTable table = MakeTable();
    int second = 0;
    for (; second < 10; ++second) RunSecond(table, second);
    for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
    return second;
  }

  // A table of the next life of the collector, with the incidents of this one.
  std::unique_ptr<JobTable> Restart() {
    auto table =
        std::make_unique<JobTable>(options_, clock_, JobTable::Outlets{log_, alerts_, index_, metrics_, Record()},
                                   log_.entries.back().watermark().wall_ns());
    std::vector<wire::Incident> incidents;
    index_.ForEach(/*open_only=*/false, "", [&](const wire::Incident& incident) { incidents.push_back(incident); });
    table->Restore(incidents);
    return table;
  }

  // With the options that the log names, not those of the table.
  ReplaySummary Replay(std::vector<std::string>& lines) {
    Replayer replayer(JobEngineOptions(), [&](absl::string_view line) { lines.emplace_back(line); });
    replayer.SetRewind([this](const Replayer::Visit& visit) { return VisitLog(visit); });
    for (const wire::CaptureEntry& entry : log_.entries) EXPECT_OK(replayer.Feed(entry));
    return replayer.summary();
  }

  SimClock clock_;
  static constexpr size_t kHeldReports = 4;

  std::vector<std::pair<std::string, wire::Command>> commands_;  // not yet answered
  std::map<std::string, std::vector<wire::AgentReport>> held_;   // by host
  JobTableOptions options_;
  FakeLog log_;
  FakeAlerts alerts_;
  IncidentIndex index_{1'000};
  CollectorMetrics metrics_{"test"};
};

TEST_F(JobTableTest, TheLogBeginsWithAResetAndRisesStrictlyUpToConclusions) {
  JobTable table = MakeTable();
  for (int second = 0; second < 3; ++second) RunSecond(table, second);
  ASSERT_GE(log_.entries.size(), 13u);  // a reset, six inputs, six watermarks
  ASSERT_TRUE(log_.entries[0].has_reset());
  EXPECT_THAT(log_.entries[0].reset().why(), HasSubstr("first report"));
  int64_t last = log_.entries[0].reset().wall_ns();
  EXPECT_GE(last, SimClock::kStartWallNanos);
  for (size_t i = 1; i < log_.entries.size(); ++i) {
    const wire::CaptureEntry& entry = log_.entries[i];
    if (entry.has_conclusion()) {
      EXPECT_EQ(entry.conclusion().wall_ns(), last);
      continue;
    }
    const int64_t now = entry.has_input() ? entry.input().received_wall_ns() : entry.watermark().wall_ns();
    EXPECT_GT(now, last);
    last = now;
  }
}

// Steps of the whole job become twice as long from `from_ns` of the hosts' clocks on.
void StretchFrom(int64_t from_ns, wire::AgentReport& report) {
  report.set_monotonic_ns(from_ns + 2 * (report.monotonic_ns() - from_ns));
  for (wire::ProcessReport& process : *report.mutable_processes()) {
    process.set_recorder(wire::RECORDER_KIND_NCCL_PROFILER);
    wire::OperationBatch& batch = *process.mutable_communicators(0)->mutable_operations();
    for (int i = 0; i < batch.kinds_size(); ++i) {
      const int64_t delta_ns = batch.enqueued_deltas_ns(i);
      batch.set_enqueued_deltas_ns(i, i == 0 ? from_ns + 2 * (delta_ns - from_ns) : 2 * delta_ns);
      batch.set_duration_ns(i, 2 * batch.duration_ns(i));
    }
  }
}

TEST_F(JobTableTest, TransfersAreWatchedWhenEveryStepIsLongerAndNoRankIsToBlame) {
  JobTable table = MakeTable();
  for (int second = 0; second < 10; ++second) RunSecond(table, second);
  const int64_t slow_from_ns = MakeTestReport(10, {.first_step = 91}).monotonic_ns();
  for (int round = 10; round < 30; ++round) {
    for (int host = 0; host < 2; ++host) {
      const std::string name = "node-" + std::to_string(host);
      wire::AgentReport report = MakeTestReport(static_cast<uint64_t>(round) + 1,
                                                {.first_rank = 2 * host, .ranks = 2, .first_step = 1 + 10 * round});
      StretchFrom(slow_from_ns, report);
      Answer(name, report);
      table.Observe(Slice(name, std::move(report)));
    }
    for (int i = 0; i < 4; ++i) {
      clock_.Advance(kNanosPerSecond / 2);
      table.Evaluate();
    }
    const auto watch = std::find_if(commands_.begin(), commands_.end(),
                                    [](const auto& command) { return command.second.has_watch_transfers(); });
    if (watch == commands_.end()) continue;
    EXPECT_EQ(watch->second.job(), "train");
    EXPECT_EQ(watch->second.watch_transfers().duration_ns(), 10 * kNanosPerSecond);
    EXPECT_EQ(metrics_.watches.requested.Value(), 2);
    EXPECT_EQ(metrics_.watches.unsent.Value(), 0);
    EXPECT_GE(round, 10);
    std::vector<std::string> lines;
    EXPECT_EQ(Replay(lines).conclusions_different, 0u);
    return;
  }
  FAIL() << "nobody asked for transfers; " << metrics_.pulls.requested.Value() << " pulls";
}

TEST_F(JobTableTest, ReplayOfTheLogGivesTheSameConclusionsByteForByte) {
  JobTable table = MakeTable();
  int second = 0;
  for (; second < 10; ++second) RunSecond(table, second);
  for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
  for (int i = 0; i < 60; ++i) {  // silence
    clock_.Advance(kNanosPerSecond / 2);
    table.Evaluate();
  }
  std::vector<std::string> first;
  const ReplaySummary summary = Replay(first);
  EXPECT_EQ(summary.inputs, 50u);
  EXPECT_EQ(summary.resets, 1u);
  EXPECT_EQ(summary.conclusions_different, 0u);
  EXPECT_EQ(summary.conclusions_equal, summary.conclusions);
  EXPECT_GT(summary.conclusions, 0u);
  std::vector<std::string> second_run;
  Replay(second_run);
  EXPECT_EQ(first, second_run);
  // What the replay says is what the live log says.
  std::vector<std::string> logged;
  for (const wire::CaptureEntry& entry : log_.entries) {
    for (const std::string& verdict : entry.conclusion().verdicts()) {
      logged.push_back(std::to_string(entry.conclusion().wall_ns()) + " " + verdict);
    }
  }
  std::erase_if(first, [](const std::string& line) { return line.find("\"verdicts\":[]") != std::string::npos; });
  EXPECT_EQ(first, logged);
}

TEST_F(JobTableTest, ReplayJudgesByTheThresholdsThatWereInForce) {
  // Blind to the slow rank, but quick to call a host silent.
  options_.engine.min_step_cost = 0.99;
  options_.engine.host_silent_ns = 5 * kNanosPerSecond;
  JobTable table = MakeTable();
  int second = 0;
  for (; second < 10; ++second) RunSecond(table, second);
  for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
  EXPECT_TRUE(alerts_.events.empty());
  for (int i = 0; i < 60; ++i) {  // silence
    clock_.Advance(kNanosPerSecond / 2);
    table.Evaluate();
  }
  std::vector<std::string> lines;
  const ReplaySummary summary = Replay(lines);
  EXPECT_EQ(summary.conclusions_different, 0u);
  EXPECT_GT(summary.conclusions_equal, 1u);
  EXPECT_EQ(summary.conclusions_equal, summary.conclusions);
  ASSERT_TRUE(log_.entries[0].has_reset());
  EXPECT_EQ(log_.entries[0].reset().options().min_step_cost(), 0.99);
  EXPECT_EQ(log_.entries[0].reset().options().host_silent_ns(), 5 * kNanosPerSecond);
}

TEST_F(JobTableTest, ASlowRankBecomesOneIncidentThatIsAnnouncedKeptAndCounted) {
  JobTable table = MakeTable();
  int second = 0;
  for (; second < 10; ++second) RunSecond(table, second);
  EXPECT_TRUE(alerts_.events.empty());
  for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
  ASSERT_FALSE(alerts_.events.empty());
  const IncidentEvent& opened = alerts_.events[0];
  EXPECT_EQ(opened.kind, IncidentEvent::Kind::kOpened);
  ASSERT_GE(opened.incident.verdict().culprits_size(), 1);
  EXPECT_EQ(opened.incident.verdict().culprits(0).host(), "node-1");
  EXPECT_EQ(opened.incident.verdict().culprits(0).rank(), 2);
  EXPECT_EQ(index_.open_count(), 1u);
  EXPECT_EQ(index_.Find(opened.incident.id())->job(), "train");
  for (; second < 50; ++second) RunSecond(table, second);
  EXPECT_EQ(index_.open_count(), 0u);
}

TEST_F(JobTableTest, TheSnapshotShowsJobsAndRanksButNotTheNamelessJob) {
  JobTable table = MakeTable();
  EXPECT_TRUE(table.snapshot()->jobs.empty());
  table.Observe(Slice("idle-node", MakeHostReport(1, 0.5)));
  RunSecond(table, 0);
  const std::shared_ptr<const JobsSnapshot> snapshot = table.snapshot();
  ASSERT_EQ(snapshot->jobs.size(), 1u);
  const wire::Job& job = snapshot->jobs[0];
  EXPECT_EQ(job.job(), "train");
  EXPECT_EQ(job.hosts(), 2);
  EXPECT_EQ(job.ranks(), 4);
  EXPECT_EQ(job.world_size(), 4);
  ASSERT_EQ(snapshot->ranks.at("train")->size(), 4u);
  EXPECT_EQ(snapshot->ranks.at("train")->at(3).host(), "node-1");
  EXPECT_EQ(snapshot->ranks.at("train")->at(3).process_state(), "running");
}

// Idle hosts, and those of jobs that nobody records: what the hardware says of itself is an incident of the host.
TEST_F(JobTableTest, AFatalXidOfAHostWithoutAJobBecomesAnIncidentOfTheHost) {
  JobTable table = MakeTable();
  for (uint64_t second = 1; second <= 40; ++second) {
    for (int host = 0; host < 4; ++host) {
      wire::AgentReport report = MakeHostReport(second, 0.5);
      if (second == 10 && host == 2) {
        wire::KernelEvent& event = *report.add_kernel_events();
        event.set_kind(wire::KernelEvent::KIND_XID);
        event.set_code(79);
        event.set_device("0000:3b:00");
        event.set_text("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.");
        event.set_monotonic_ns(report.monotonic_ns());
      }
      // From here on its agent is silent, as after an orderly stop: that alone accuses nobody.
      if (host == 3 && second > 20) continue;
      table.Observe(Slice("node-" + std::to_string(host), std::move(report)));
    }
    clock_.Advance(kNanosPerSecond);
    table.Evaluate();
  }
  ASSERT_EQ(index_.open_count(), 1u);
  const wire::Incident& incident = alerts_.events.back().incident;
  EXPECT_EQ(incident.state(), wire::Incident::STATE_OPEN);
  EXPECT_EQ(incident.job(), "");
  EXPECT_EQ(incident.verdict().scope(), "machine");
  EXPECT_EQ(incident.verdict().class_(), "gpu_fault");
  ASSERT_EQ(incident.verdict().culprits_size(), 1);
  EXPECT_EQ(incident.verdict().culprits(0).host(), "node-2");
  EXPECT_EQ(incident.verdict().culprits(0).device(), "0000:3b:00");
  std::vector<std::string> lines;
  EXPECT_EQ(Replay(lines).conclusions_different, 0u);
}

TEST_F(JobTableTest, AnIdleJobIsForgottenAndBeginsAnewWhenItComesBack) {
  options_.forget_after_ns = 20 * kNanosPerSecond;
  JobTable table = MakeTable();
  RunSecond(table, 0);
  clock_.Advance(options_.forget_after_ns);
  table.Evaluate();
  EXPECT_TRUE(table.snapshot()->jobs.empty());
  RunSecond(table, 1);
  EXPECT_EQ(table.snapshot()->jobs.size(), 1u);
  int resets = 0;
  for (const wire::CaptureEntry& entry : log_.entries) resets += entry.has_reset();
  EXPECT_EQ(resets, 2);
}

TEST_F(JobTableTest, WhatWasOpenWhenItsJobDiedStaysSoUntilTheJobIsStartedAgain) {
  JobTable table = MakeTable();
  int second = 0;
  for (; second < 10; ++second) RunSecond(table, second);
  for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
  ASSERT_EQ(alerts_.events.size(), 1u);
  End(table, second, /*signal=*/9);
  for (int i = 0; i < 60; ++i) {
    clock_.Advance(kNanosPerSecond);
    table.Evaluate();
  }
  EXPECT_EQ(table.snapshot()->jobs.at(0).state(), "failed");
  EXPECT_EQ(table.snapshot()->ranks.at("train")->at(1).end(), "SIGKILL");
  std::vector<wire::Incident> open;
  index_.ForEach(/*open_only=*/true, "train", [&](const wire::Incident& incident) { open.push_back(incident); });
  ASSERT_EQ(open.size(), 2u) << "the slow rank and the death";
  for (int i = 0; i < 3; ++i) RunSecond(table, 100 + i, -1, /*life=*/1);
  for (const wire::Incident& one : open) {
    const std::optional<wire::Incident> incident = index_.Find(one.id());
    ASSERT_TRUE(incident.has_value());
    EXPECT_EQ(incident->state(), wire::Incident::STATE_RESOLVED);
    EXPECT_EQ(incident->resolution(), wire::Incident::RESOLUTION_JOB_DIED) << "nobody has seen the cause go";
  }
}

TEST_F(JobTableTest, WhatIsOpenWhenAJobIsStoppedOrEndsInOrderEndsWithItAndSaysSo) {
  for (const int signal : {0, 15}) {
    options_.max_jobs += 1;
    JobTable table = MakeTable();
    int second = 0;
    for (; second < 10; ++second) RunSecond(table, second);
    for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
    End(table, second, signal);
    EXPECT_EQ(table.snapshot()->jobs.at(0).state(), signal == 0 ? "ended" : "stopped");
    const wire::Incident& last = alerts_.events.back().incident;
    EXPECT_EQ(alerts_.events.back().kind, IncidentEvent::Kind::kResolved);
    EXPECT_EQ(last.resolution(),
              signal == 0 ? wire::Incident::RESOLUTION_JOB_ENDED : wire::Incident::RESOLUTION_JOB_STOPPED);
  }
}

TEST_F(JobTableTest, JobsBeyondTheLimitAreLoggedButNotWatched) {
  options_.max_jobs = 1;
  JobTable table = MakeTable();
  TestRanks ranks;
  table.Observe(Slice("a", MakeTestReport(1, ranks)));
  ranks.job = "other";
  table.Observe(Slice("b", MakeTestReport(1, ranks)));
  table.Evaluate();
  EXPECT_EQ(table.snapshot()->jobs.size(), 1u);
  EXPECT_EQ(log_.entries.at(2).input().job(), "other");
}

TEST_F(JobTableTest, WhenTheStoreRefusesDetectionGoesOnAndTheLogBeginsAnewAfterwards) {
  JobTable table = MakeTable();
  RunSecond(table, 0);
  log_.healthy_ = false;
  RunSecond(table, 1);
  EXPECT_GE(table.snapshot()->jobs.at(0).last_seen_wall_ns(), SimClock::kStartWallNanos + kNanosPerSecond);
  log_.healthy_ = true;
  const size_t before = log_.entries.size();
  RunSecond(table, 2);
  bool reset = false;
  for (size_t i = before; i < log_.entries.size(); ++i) reset = reset || log_.entries[i].has_reset();
  EXPECT_TRUE(reset);
  std::vector<std::string> lines;
  EXPECT_EQ(Replay(lines).conclusions_different, 0u);
}

TEST_F(JobTableTest, ARestoredIncidentStaysOpenUntilItsJobIsGivenUp) {
  wire::Incident incident;
  incident.set_id(41);
  incident.set_job("train");
  incident.set_key("cause");
  incident.set_state(wire::Incident::STATE_OPEN);
  index_.Put(incident);
  options_.forget_after_ns = 20 * kNanosPerSecond;
  JobTable table = MakeTable();
  table.Restore({incident});
  table.Evaluate();
  EXPECT_EQ(index_.open_count(), 1u);
  clock_.Advance(21 * kNanosPerSecond);
  table.Evaluate();
  EXPECT_EQ(index_.open_count(), 0u);
  EXPECT_EQ(index_.NextId(), 42u);
}

TEST_F(JobTableTest, AfterARestartEnginesGoOnWhereTheirLogEnds) {
  int second = RunLifeWithASlowRank();
  ASSERT_EQ(index_.open_count(), 1u);
  const std::vector<wire::CaptureEntry> before = log_.entries;
  clock_.Advance(20 * kNanosPerSecond);  // nobody listens
  const std::unique_ptr<JobTable> restarted = Restart();
  JobTable& table = *restarted;
  table.WarmUpJob("train", [&](const JobTable::Visit& visit) { return VisitLog(visit); });
  table.Evaluate();
  EXPECT_EQ(log_.entries.size(), before.size()) << "nothing is concluded before the job is heard of again";
  const size_t announced = alerts_.events.size();
  for (const int until = second + 15; second < until; ++second) RunSecond(table, second, /*slow_rank=*/2);
  for (size_t i = announced; i < alerts_.events.size(); ++i) {
    EXPECT_EQ(alerts_.events[i].kind, IncidentEvent::Kind::kUpdated) << "the fault held all the time";
  }
  EXPECT_EQ(index_.open_count(), 1u);
  EXPECT_EQ(log_.entries.at(before.size()).reset().warmed_from_wall_ns(), before.front().reset().wall_ns());
  for (const int until = second + 25; second < until; ++second) RunSecond(table, second);
  EXPECT_EQ(index_.open_count(), 0u);

  std::vector<std::string> lines;
  const ReplaySummary summary = Replay(lines);
  EXPECT_EQ(summary.resets, 2u);
  EXPECT_EQ(summary.conclusions_different, 0u);
  EXPECT_EQ(summary.conclusions_unanchored, 0u);
  EXPECT_EQ(summary.conclusions_equal, summary.conclusions);
}

TEST_F(JobTableTest, ACaptureThatBeginsAfterAWarmUpDidIsNotCompared) {
  int second = 0;
  {
    JobTable table = MakeTable();
    for (; second < 10; ++second) RunSecond(table, second);
  }
  const std::unique_ptr<JobTable> restarted = Restart();
  JobTable& table = *restarted;
  table.WarmUpJob("train", [&](const JobTable::Visit& visit) { return VisitLog(visit); });
  for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
  log_.entries.erase(log_.entries.begin(), log_.entries.begin() + 8);
  std::vector<std::string> lines;
  const ReplaySummary summary = Replay(lines);
  EXPECT_EQ(summary.conclusions_different, 0u);
  EXPECT_EQ(summary.conclusions_equal, 0u);
  EXPECT_GT(summary.conclusions_unanchored, 0u);
}

TEST_F(JobTableTest, OtherThresholdsJudgeFromTheNextEvaluationOnAndAreInTheLog) {
  options_.engine.min_step_cost = 0.99;  // blind to the slow rank
  JobTable table = MakeTable();
  int second = 0;
  for (; second < 10; ++second) RunSecond(table, second);
  for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
  EXPECT_EQ(index_.open_count(), 0u);
  options_.engine.min_step_cost = JobEngineOptions().min_step_cost;
  table.Reconfigure(options_);
  for (const int until = second + 25; second < until; ++second) RunSecond(table, second, /*slow_rank=*/2);
  EXPECT_EQ(index_.open_count(), 1u);
  std::vector<std::string> lines;
  const ReplaySummary summary = Replay(lines);
  EXPECT_EQ(summary.resets, 2u);
  EXPECT_EQ(summary.conclusions_different, 0u);
}

TEST_F(JobTableTest, WhatAColdEngineHasNotJudgedStaysOpenAndResolvesOnceItHas) {
  int second = RunLifeWithASlowRank();
  ASSERT_EQ(index_.open_count(), 1u);
  const size_t announced = alerts_.events.size();
  const std::unique_ptr<JobTable> restarted = Restart();
  JobTable& table = *restarted;
  table.WarmUpJob("train", [](const JobTable::Visit&) { return absl::DataLossError("a chunk does not decode"); });
  for (const int until = second + 15; second < until; ++second) RunSecond(table, second, /*slow_rank=*/2);
  EXPECT_EQ(index_.open_count(), 1u);
  for (size_t i = announced; i < alerts_.events.size(); ++i) {
    EXPECT_EQ(alerts_.events[i].kind, IncidentEvent::Kind::kUpdated);
  }
  for (const int until = second + 40; second < until; ++second) RunSecond(table, second);
  EXPECT_EQ(index_.open_count(), 0u);
}

}  // namespace
}  // namespace lockstep
