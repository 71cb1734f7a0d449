// What becomes of the causes that jobs and hosts show: incidents, until their job ends.

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/metric_catalog.h"
#include "collector/job_table.h"
#include "collector/testing/job_table_fixture.h"
#include "collector/testing/report_builder.h"

namespace lockstep {
namespace {

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

TEST_F(JobTableTest, AnIncidentKeepsItsLineOfTheLedgerWhenItIsOver) {
  JobTable table = MakeTable();
  RunUntilSlow(table);
  const wire::TimeLedger ledger = table.snapshot()->jobs.front().ledger();
  ASSERT_EQ(ledger.lines_size(), 1);
  ASSERT_GT(ledger.lines(0).seconds(), 0);
  table.EndPart("train", "whole");
  const wire::Incident& incident = alerts_.events.back().incident;
  ASSERT_EQ(incident.state(), wire::Incident::STATE_RESOLVED);
  ASSERT_TRUE(incident.has_ledger_share());
  EXPECT_EQ(incident.ledger_share().seconds(), ledger.lines(0).seconds());
  EXPECT_EQ(incident.ledger_share().measured_seconds(), ledger.measured_seconds());
  EXPECT_EQ(incident.ledger_share().reference_seconds(), ledger.reference_seconds());
  EXPECT_EQ(incident.ledger_share().unexplained_seconds(), ledger.unexplained_seconds());
  EXPECT_EQ(incident.ledger_share().seen_wall_ns(), ledger.seen_wall_ns());
}

TEST_F(JobTableTest, AJobThatWasAPartOfAnotherIsOver) {
  JobTable table = MakeTable();
  RunUntilSlow(table);
  ASSERT_EQ(index_.open_count(), 1u);
  table.EndPart("nobody's", "whole");
  EXPECT_EQ(index_.open_count(), 1u);
  table.EndPart("train", "whole");
  EXPECT_EQ(index_.open_count(), 0u);
  const wire::Incident& incident = alerts_.events.back().incident;
  EXPECT_EQ(incident.resolution(), wire::Incident::RESOLUTION_JOB_LOST);
  EXPECT_EQ(incident.transitions().rbegin()->why(), "its ranks are of the job whole");
  table.Evaluate();
  EXPECT_TRUE(table.snapshot()->jobs.empty());
}

void AddKernelEvent(wire::KernelEvent::Kind kind, int64_t code, const char* text, wire::AgentReport& report) {
  wire::KernelEvent& event = *report.add_kernel_events();
  event.set_kind(kind);
  event.set_code(code);
  event.set_device("0000:3b:00");
  event.set_text(text);
  event.set_monotonic_ns(report.monotonic_ns());
}

// Idle hosts, and those of jobs that nobody records: what the hardware says of itself is an incident of the host.
TEST_F(JobTableTest, AFatalXidOfAHostWithoutAJobBecomesAnIncidentOfTheHost) {
  JobTable table = MakeTable();
  for (uint64_t second = 1; second <= 40; ++second) {
    for (int host = 0; host < 4; ++host) {
      wire::AgentReport report = MakeHostReport(second, 0.5);
      if (second == 10 && host == 2) {
        AddKernelEvent(wire::KernelEvent::KIND_XID, 79, "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
                       report);
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

struct HostFault {
  Metric metric;
  const char* device;
  double before;
  double after;
  const char* scope;
  const char* verdict_class;
  bool suspected;  // it proves nothing by itself
};

// A host each. Memory that cannot be corrected and a link that is lost are faults; fewer PCIe lanes may be meant.
constexpr HostFault kHostFaults[] = {
    {Metric::kGpuEccUncorrectedTotal, "gpu0", 0, 1, "machine", "gpu_fault", false},
    {Metric::kGpuPcieLinkWidth, "gpu3", 16, 8, "unknown", "pcie_degraded", true},
    {Metric::kIbLinkDownedTotal, "mlx5_0/1", 0, 1, "network", "link_slow", false},
};

TEST_F(JobTableTest, WhatErrorCountersSayOfHostsWithoutAJobBecomesAnIncidentOfEach) {
  JobTable table = MakeTable();
  for (uint64_t second = 1; second <= 60; ++second) {
    for (const HostFault& fault : kHostFaults) {
      wire::AgentReport report = MakeHostReport(second, 0.5);
      report.set_monotonic_ns(report.monotonic_ns() + static_cast<int64_t>(second) * kNanosPerSecond);
      wire::MetricBlock& block = *report.add_metrics();
      block.set_device(fault.device);
      block.set_monotonic_ns(report.monotonic_ns());
      if (fault.metric == Metric::kGpuPcieLinkWidth) {
        block.add_metrics(static_cast<uint32_t>(Metric::kGpuPcieLinkWidthMax));
        block.add_values(fault.before);
      }
      block.add_metrics(static_cast<uint32_t>(fault.metric));
      block.add_values(second < 20 ? fault.before : fault.after);
      table.Observe(Slice(fault.verdict_class, std::move(report)));
    }
    table.Observe(Slice("healthy", MakeHostReport(second, 0.5)));
    clock_.Advance(kNanosPerSecond);
    table.Evaluate();
    if (second < 20) {
      ASSERT_EQ(index_.open_count(), 0u) << second;
    }
  }
  std::map<std::string, wire::Incident> seen;
  index_.ForEach(/*open_only=*/false, "", [&](const wire::Incident& incident) {
    if (incident.job().empty()) seen[incident.verdict().culprits(0).host()] = incident;
  });
  ASSERT_EQ(seen.size(), std::size(kHostFaults));
  for (const HostFault& fault : kHostFaults) {
    const wire::Incident& incident = seen[fault.verdict_class];  // as its host is called
    EXPECT_EQ(incident.state(), wire::Incident::STATE_OPEN) << fault.verdict_class;
    EXPECT_EQ(incident.suspected(), fault.suspected) << fault.verdict_class;
    EXPECT_EQ(incident.verdict().scope(), fault.scope) << fault.verdict_class;
    EXPECT_EQ(incident.verdict().class_(), fault.verdict_class);
    ASSERT_EQ(incident.verdict().culprits_size(), 1) << fault.verdict_class;
    EXPECT_EQ(incident.verdict().culprits(0).device(), fault.device);
    EXPECT_EQ(incident.verdict().culprits(0).rank(), -1) << fault.verdict_class;
  }
  std::vector<std::string> lines;
  EXPECT_EQ(Replay(lines).conclusions_different, 0u);
}

// Two hosts say the same of themselves, of which one was blamed in two jobs before: that is the third.
TEST_F(JobTableTest, WhatProvesNothingByItselfIsToldOfAHostThatTwoJobsBlamed) {
  for (const char* job : {"a", "b"}) {
    wire::Incident blame;
    blame.set_id(index_.NextId());
    blame.set_job(job);
    blame.set_state(wire::Incident::STATE_RESOLVED);
    blame.set_resolved_wall_ns(clock_.WallNanos());
    blame.mutable_verdict()->set_scope("machine");
    blame.mutable_verdict()->add_culprits()->set_host("lemon");
    index_.Put(blame);
  }
  JobTable table = MakeTable();
  for (uint64_t second = 1; second <= 60; ++second) {
    for (const char* host : {"fresh-1", "fresh-2", "lemon"}) {
      wire::AgentReport report = MakeHostReport(second, 0.5);
      if (second == 10 && host != std::string("fresh-1")) {
        AddKernelEvent(wire::KernelEvent::KIND_PCIE_AER, 1, "AER: Uncorrected (Non-Fatal) error", report);
      }
      table.Observe(Slice(host, std::move(report)));
    }
    clock_.Advance(kNanosPerSecond);
    table.Evaluate();
  }
  std::map<std::string, wire::Incident> seen;
  index_.ForEach(/*open_only=*/false, "", [&](const wire::Incident& incident) {
    if (incident.job().empty()) seen[incident.verdict().culprits(0).host()] = incident;
  });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen["fresh-2"].suspected());
  EXPECT_FALSE(seen["lemon"].suspected());
  EXPECT_EQ(seen["lemon"].verdict().scope(), "unknown");
  std::vector<uint64_t> told;
  for (const IncidentEvent& event : alerts_.events) {
    if (event.kind == IncidentEvent::Kind::kOpened && event.is_for_receivers()) told.push_back(event.incident.id());
  }
  EXPECT_EQ(told, std::vector<uint64_t>{seen["lemon"].id()});
  std::vector<std::string> lines;
  EXPECT_EQ(Replay(lines).conclusions_different, 0u) << "the detector knows nothing of it";
}

TEST_F(JobTableTest, WhatWasOpenWhenItsJobDiedStaysSoUntilTheJobIsStartedAgain) {
  JobTable table = MakeTable();
  int second = RunUntilSlow(table);
  ASSERT_EQ(index_.open_count(), 1u);
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
    const int second = RunUntilSlow(table);
    End(table, second, signal);
    EXPECT_EQ(table.snapshot()->jobs.at(0).state(), signal == 0 ? "ended" : "stopped");
    const wire::Incident& last = alerts_.events.back().incident;
    EXPECT_EQ(alerts_.events.back().kind, IncidentEvent::Kind::kResolved);
    EXPECT_EQ(last.resolution(),
              signal == 0 ? wire::Incident::RESOLUTION_JOB_ENDED : wire::Incident::RESOLUTION_JOB_STOPPED);
  }
}

}  // namespace
}  // namespace lockstep
