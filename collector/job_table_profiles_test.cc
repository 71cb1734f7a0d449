// What profiles of a job's ranks have shown stands in the ledger of the job while it runs, and the metrics show it.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/clock.h"
#include "collector/job_table.h"
#include "collector/metrics.h"
#include "collector/testing/job_table_fixture.h"
#include "detector/verdict/pattern_reasons.h"
#include "detector/verdict/verdict.h"
#include "prometheus/registry.h"

namespace lockstep {
namespace {

constexpr char kLoader[] = "storage_stall rank 1 node-0";
constexpr double kShare = 0.05;  // of a step, that the loader takes

// As a profile of the four ranks says it: the loader of one takes this share of a step.
JobProfile ProfileOf(double share) {
  JobProfile profile{.ranks = {0, 1, 2, 3}};
  if (share <= 0) return profile;
  Verdict verdict = Verdict::Accusation(VerdictScope::kSoftware, VerdictClass::kStorageStall);
  verdict.culprits = {Culprit{.host = "node-0", .rank = 1, .confidence = 0.8}};
  verdict.cost.slowdown_fraction = share;
  verdict.evidence = {
      {EvidenceKind::kCounter, WorkTakesLonger{.work = "data loading", .ranks = {1}, .compared = 4, .share = share}}};
  profile.findings.push_back(verdict);
  return profile;
}

class JobTableProfilesTest : public JobTableTest {
 protected:
  // Until a look finds a part that nothing explains: before the change of the whole job is known in full.
  void RunUntilUnexplained() {
    for (int second = 0; second < 10; ++second) RunSecond(table_, second);
    for (int round = 10; Ledger().unexplained_seconds() <= 0 && round < 60; ++round) RunRoundOfLongSteps(table_, round);
    ASSERT_GT(Ledger().unexplained_seconds(), kShare * Ledger().measured_seconds());
  }

  // Without another look of the engine.
  void AddProfile(double share) {
    table_.AddProfile("train", ProfileOf(share));
    clock_.Advance(kNanosPerSecond / 10);
    table_.Evaluate();
  }

  wire::TimeLedger Ledger() const {
    const auto& jobs = table_.snapshot()->jobs;
    return jobs.empty() ? wire::TimeLedger() : jobs.front().ledger();
  }

  static void ExpectItAddsUp(const wire::TimeLedger& ledger) {
    double sum = ledger.reference_seconds() + ledger.unexplained_seconds();
    for (const auto& line : ledger.lines()) sum += line.seconds();
    EXPECT_NEAR(sum, ledger.measured_seconds(), 1e-9);
  }

  static double LineOf(const wire::TimeLedger& ledger, const std::string& finding) {
    for (const auto& line : ledger.lines()) {
      if (line.finding() == finding) return line.seconds();
    }
    return 0;
  }

  // What the metrics show of the ledgers of all jobs, by part.
  std::map<std::string, double> ShownParts() const {
    std::map<std::string, double> parts;
    for (const prometheus::MetricFamily& family : metrics_.registry()->Collect()) {
      if (family.name != "lockstep_job_ledger_seconds") continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        for (const prometheus::ClientMetric::Label& label : metric.label) {
          if (label.name == "part") parts[label.value] = metric.gauge.value;
        }
      }
    }
    return parts;
  }

  JobTable table_ = MakeTable();
};

TEST_F(JobTableProfilesTest, AFindingOfProfilesTakesItsPartOfWhatNothingExplains) {
  RunUntilUnexplained();
  const wire::TimeLedger before = Ledger();
  ExpectItAddsUp(before);
  EXPECT_EQ(LineOf(before, kLoader), 0);
  AddProfile(kShare);
  const wire::TimeLedger after = Ledger();
  ExpectItAddsUp(after);
  EXPECT_NEAR(LineOf(after, kLoader), kShare * after.measured_seconds(), 1e-9);
  EXPECT_NEAR(after.unexplained_seconds(), before.unexplained_seconds() - LineOf(after, kLoader), 1e-9);
  const wire::Incident& incident = alerts_.events.back().incident;
  EXPECT_EQ(incident.verdict().class_(), "storage_stall") << "and an incident of software";
  EXPECT_EQ(incident.ledger_share().seconds(), LineOf(after, kLoader));
  EXPECT_EQ(incident.ledger_share().unexplained_seconds(), after.unexplained_seconds());
}

TEST_F(JobTableProfilesTest, MetricsShowTheLedgerUntilTheJobIsForgotten) {
  RunUntilUnexplained();
  AddProfile(kShare);
  const wire::TimeLedger ledger = Ledger();
  std::map<std::string, double> parts = ShownParts();
  EXPECT_EQ(parts["measured"], ledger.measured_seconds());
  EXPECT_EQ(parts["reference"], ledger.reference_seconds());
  EXPECT_EQ(parts["unexplained"], ledger.unexplained_seconds());
  EXPECT_EQ(parts["error"], ledger.error_seconds());
  EXPECT_GE(parts["explained"], LineOf(ledger, kLoader));
  EXPECT_NEAR(parts["reference"] + parts["explained"] + parts["unexplained"], parts["measured"], 1e-9);
  clock_.Advance(options_.forget_after_ns + kNanosPerSecond);
  table_.Evaluate();
  EXPECT_TRUE(ShownParts().empty());
}

TEST_F(JobTableProfilesTest, WhatANewerProfileDoesNotShowIsUnexplainedAgain) {
  RunUntilUnexplained();
  const wire::TimeLedger before = Ledger();
  AddProfile(kShare);
  ASSERT_GT(LineOf(Ledger(), kLoader), 0);
  AddProfile(0);
  EXPECT_EQ(LineOf(Ledger(), kLoader), 0);
  EXPECT_NEAR(Ledger().unexplained_seconds(), before.unexplained_seconds(), 1e-9);
  ExpectItAddsUp(Ledger());
}

TEST_F(JobTableProfilesTest, AProfileExplainsNoMoreThanThereIs) {
  RunUntilUnexplained();
  const wire::TimeLedger before = Ledger();
  AddProfile(0.99);
  EXPECT_NEAR(LineOf(Ledger(), kLoader), before.unexplained_seconds(), 1e-9);
  EXPECT_NEAR(Ledger().unexplained_seconds(), 0, 1e-9);
  ExpectItAddsUp(Ledger());
}

}  // namespace
}  // namespace lockstep
