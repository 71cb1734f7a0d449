// A table of jobs with a log, receivers of alerts and a clock of the test's own, and a job of two hosts with two ranks
// each that it is told of. For the tests of the table by what it is for: its log, incidents, restarts. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_TESTING_JOB_TABLE_FIXTURE_H_
#define LOCKSTEP_COLLECTOR_TESTING_JOB_TABLE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/sim_clock.h"
#include "collector/alert/alert_sink.h"
#include "collector/incident_index.h"
#include "collector/ingest/agent_ledger.h"
#include "collector/input_log.h"
#include "collector/job_table.h"
#include "collector/metrics.h"
#include "collector/replay/replay.h"

namespace lockstep {

class FakeLog final : public InputLog {
 public:
  bool Append(LogItem item) override {
    const AgentLedger::Ticket& ticket = item.ticket;
    if (!healthy_ || (item.entry.has_input() && item.entry.input().job() == loses_job_)) {
      if (ticket.ledger != nullptr) ticket.ledger->MarkLost(ticket);
      return false;
    }
    if (ticket.ledger != nullptr) ticket.ledger->CompleteSlice(ticket);
    if (item.entry.entry_case() != wire::CaptureEntry::ENTRY_NOT_SET) entries.push_back(std::move(item.entry));
    return true;
  }
  bool healthy() const override { return healthy_; }

  bool healthy_ = true;
  std::optional<std::string> loses_job_;  // the inputs of that job
  std::vector<wire::CaptureEntry> entries;
};

class FakeAlerts final : public AlertSink {
 public:
  void Announce(const IncidentEvent& event) override { events.push_back(event); }
  std::vector<IncidentEvent> events;
};

class JobTableTest : public testing::Test {
 protected:
  // Of a job that begins: agents hold nothing of an earlier one.
  JobTable MakeTable() {
    held_.clear();
    return JobTable(options_, clock_, {log_, alerts_, index_, metrics_, Record()});
  }

  std::function<bool(const std::string&, const wire::Command&)> Record() {
    return [this](const std::string& host, const wire::Command& command) {
      commands_.emplace_back(host, command);
      return true;
    };
  }

  static JobSlice Slice(const std::string& host, wire::AgentReport report);

  // What the agent of `host` answers to what was asked of it: its newest operations, or that recorders watch.
  void Answer(const std::string& host, wire::AgentReport& report);

  static void AddHeld(const wire::AgentReport& report, wire::CommandResult& result);

  // All processes of that job are gone, by a signal or else with exit code 0. Signal 9 hits rank 1 first, and its
  // launcher asks the others to end.
  void End(JobTable& table, int second, int signal);

  // One second of a job of two hosts with two ranks each: ten steps of all ranks, reported, and two evaluations.
  void RunSecond(JobTable& table, int second, int slow_rank = -1, int life = 0);

  // Ten steps of all ranks behind RunSecond of 0 to 9, each of which takes twice as long for all of them: nobody is to
  // blame. Rounds count from ten.
  void RunRoundOfLongSteps(JobTable& table, int round);

  absl::Status VisitLog(const std::function<absl::Status(const wire::CaptureEntry&)>& visit) const;

  // Ten seconds in which all is well, and fifteen in which rank 2 is slow; the second after the last one.
  int RunUntilSlow(JobTable& table);

  // The same on a table of its own.
  int RunLifeWithASlowRank();

  // A table of the next life of the collector, with the incidents of this one.
  std::unique_ptr<JobTable> Restart();

  // With the options that the log names, not those of the table.
  ReplaySummary Replay(std::vector<std::string>& lines);

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

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TESTING_JOB_TABLE_FIXTURE_H_
