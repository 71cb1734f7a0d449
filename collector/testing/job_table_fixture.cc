#include "collector/testing/job_table_fixture.h"

#include <algorithm>

#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "collector/convert/convert.h"
#include "collector/testing/report_builder.h"

namespace lockstep {
namespace {

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

}  // namespace

JobSlice JobTableTest::Slice(const std::string& host, wire::AgentReport report) {
  JobSlice slice;
  slice.input.set_job(report.processes_size() > 0 ? report.processes(0).job() : "");
  slice.input.set_host(host);
  *slice.input.mutable_report() = std::move(report);
  ConvertLosses losses;
  slice.report = *ToHostReport(slice.input, losses);
  return slice;
}

void JobTableTest::Answer(const std::string& host, wire::AgentReport& report) {
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

void JobTableTest::AddHeld(const wire::AgentReport& report, wire::CommandResult& result) {
  for (const wire::ProcessReport& process : report.processes()) {
    wire::PulledOperations& pulled = *result.add_pulled();
    pulled.set_rank(process.rank());
    pulled.set_process_start_ticks(process.process_start_ticks());
    pulled.set_communicator(process.communicators(0).id());
    *pulled.mutable_operations() = process.communicators(0).operations();
  }
}

void JobTableTest::End(JobTable& table, int second, int signal) {
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

void JobTableTest::RunSecond(JobTable& table, int second, int slow_rank, int life) {
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

void JobTableTest::RunRoundOfLongSteps(JobTable& table, int round) {
  const int64_t long_from_ns = MakeTestReport(10, {.first_step = 91}).monotonic_ns();
  for (int host = 0; host < 2; ++host) {
    const std::string name = "node-" + std::to_string(host);
    wire::AgentReport report = MakeTestReport(static_cast<uint64_t>(round) + 1,
                                              {.first_rank = 2 * host, .ranks = 2, .first_step = 1 + 10 * round});
    StretchFrom(long_from_ns, report);
    Answer(name, report);
    table.Observe(Slice(name, std::move(report)));
  }
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(kNanosPerSecond / 2);
    table.Evaluate();
  }
}

absl::Status JobTableTest::VisitLog(const std::function<absl::Status(const wire::CaptureEntry&)>& visit) const {
  for (const wire::CaptureEntry& entry : log_.entries) {
    if (absl::Status status = visit(entry); !status.ok()) return status;
  }
  return absl::OkStatus();
}

int JobTableTest::RunUntilSlow(JobTable& table) {
  int second = 0;
  for (; second < 10; ++second) RunSecond(table, second);
  for (; second < 25; ++second) RunSecond(table, second, /*slow_rank=*/2);
  return second;
}

int JobTableTest::RunLifeWithASlowRank() {
  JobTable table = MakeTable();
  return RunUntilSlow(table);
}

std::unique_ptr<JobTable> JobTableTest::Restart() {
  clock_.Advance(kNanosPerMilli);  // stamps of one moment differ by a nanosecond each
  auto table =
      std::make_unique<JobTable>(options_, clock_, JobTable::Outlets{log_, alerts_, index_, metrics_, Record()});
  std::vector<wire::Incident> incidents;
  index_.ForEach(/*open_only=*/false, "", [&](const wire::Incident& incident) { incidents.push_back(incident); });
  table->Restore(incidents);
  return table;
}

ReplaySummary JobTableTest::Replay(std::vector<std::string>& lines) {
  Replayer replayer(JobEngineOptions(), [&](absl::string_view line) { lines.emplace_back(line); });
  replayer.SetRewind([this](const Replayer::Visit& visit) { return VisitLog(visit); });
  for (const wire::CaptureEntry& entry : log_.entries) EXPECT_OK(replayer.Feed(entry));
  return replayer.summary();
}

}  // namespace lockstep
