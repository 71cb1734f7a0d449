// What counts as right, innocent and unsound.

#include "eval/fleets/fleet_score.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "sim/second/fault.h"
#include "sim/second/truth.h"

namespace lockstep {
namespace {

using second::Fault;
using second::FaultKind;
using second::TrueFault;
using second::Truth;

Truth TruthOf(FaultKind kind, std::vector<std::string> hosts, double cost = 0.2) {
  Truth truth;
  TrueFault fault = second::Described(Fault{.kind = kind});
  fault.hosts = std::move(hosts);
  fault.silence_ok = !fault.machine_fault;
  fault.cost = {.seconds_per_step = cost,
                .slowdown_fraction = cost,
                .slowdown_fraction_affected = cost,
                .steps_affected_fraction = 1};
  truth.hang = IsHang(kind);
  truth.faults = {fault};
  return truth;
}

JobReport ReportOf(VerdictScope scope, VerdictClass verdict_class, const std::vector<std::string>& hosts,
                   double cost = 0.2) {
  JobReport report;
  report.state = JobState::kSlow;
  Verdict verdict = Verdict::Accusation(scope, verdict_class);
  for (const std::string& host : hosts) verdict.culprits.push_back({.host = host});
  verdict.cost.slowdown_fraction = cost;
  report.verdicts = {verdict};
  return report;
}

TEST(FleetScoreTest, TheCulpritAloneIsRight) {
  const FleetScore score = ScoreFleet(TruthOf(FaultKind::kComputeSlow, {"a"}),
                                      ReportOf(VerdictScope::kMachine, VerdictClass::kComputeSlow, {"a"}, 0.25));
  EXPECT_TRUE(score.right);
  EXPECT_TRUE(*score.top1);
  EXPECT_TRUE(*score.exact);
  EXPECT_TRUE(*score.class_right);
  EXPECT_EQ(score.innocents, 0);
  EXPECT_NEAR(*score.cost_error, 0.25, 1e-9);
  EXPECT_FALSE(score.unsound);
}

TEST(FleetScoreTest, AnInnocentBesideTheCulpritIsWrong) {
  const FleetScore score = ScoreFleet(TruthOf(FaultKind::kComputeSlow, {"a"}),
                                      ReportOf(VerdictScope::kMachine, VerdictClass::kComputeSlow, {"a", "b"}));
  EXPECT_FALSE(score.right);
  EXPECT_TRUE(*score.top1);
  EXPECT_EQ(score.innocents, 1);
}

TEST(FleetScoreTest, SilenceIsRightOnlyWhereTheTruthSaysSo) {
  JobReport silent;
  silent.state = JobState::kHealthy;
  Truth truth = TruthOf(FaultKind::kNicTxSlow, {"a"}, 0.02);
  EXPECT_FALSE(ScoreFleet(truth, silent).right);
  truth.faults[0].silence_ok = true;
  EXPECT_TRUE(ScoreFleet(truth, silent).right);
  EXPECT_FALSE(ScoreFleet(truth, silent).unsound);
}

TEST(FleetScoreTest, HealthyWhileSomethingCostsIsUnsound) {
  JobReport silent;
  silent.state = JobState::kHealthy;
  EXPECT_TRUE(ScoreFleet(TruthOf(FaultKind::kStageImbalance, {}), silent).unsound);
}

TEST(FleetScoreTest, CostsBeyondWhatWasLostAreUnsound) {
  EXPECT_TRUE(ScoreFleet(TruthOf(FaultKind::kComputeSlow, {"a"}),
                         ReportOf(VerdictScope::kMachine, VerdictClass::kComputeSlow, {"a"}, 0.5))
                  .unsound);
}

TEST(FleetScoreTest, WhereNobodyIsToBlameEveryAccusationIsWrong) {
  const FleetScore score = ScoreFleet(TruthOf(FaultKind::kStageImbalance, {}),
                                      ReportOf(VerdictScope::kMachine, VerdictClass::kComputeSlow, {"a"}));
  EXPECT_FALSE(score.right);
  EXPECT_EQ(score.innocents, 1);
  EXPECT_TRUE(ScoreFleet(TruthOf(FaultKind::kStageImbalance, {}),
                         ReportOf(VerdictScope::kStructural, VerdictClass::kStageImbalance, {}))
                  .right);
}

TEST(FleetScoreTest, WhoCannotBeToldApartMayBeNamedInAnAcceptedClass) {
  Truth truth = TruthOf(FaultKind::kLeafSlow, {"a"});
  truth.faults[0].also_ok = {"b"};
  EXPECT_TRUE(ScoreFleet(truth, ReportOf(VerdictScope::kNetwork, VerdictClass::kGroupSlow, {"a", "b"})).right);
  EXPECT_FALSE(ScoreFleet(truth, ReportOf(VerdictScope::kMachine, VerdictClass::kComputeSlow, {"b"})).right);
}

TEST(FleetScoreTest, HangsNeedExactlyTheCulpritsAndAClassOfHang) {
  const Truth truth = TruthOf(FaultKind::kHangNotEntered, {"a"});
  EXPECT_TRUE(ScoreFleet(truth, ReportOf(VerdictScope::kMachine, VerdictClass::kProcessDead, {"a"})).right);
  EXPECT_FALSE(ScoreFleet(truth, ReportOf(VerdictScope::kMachine, VerdictClass::kComputeSlow, {"a"})).right);
  EXPECT_FALSE(ScoreFleet(truth, ReportOf(VerdictScope::kSoftware, VerdictClass::kHangNotEntered, {"a", "b"})).right);
}

TEST(FleetScoreTest, ADeadlockHasNoSingleAuthor) {
  const Truth truth = TruthOf(FaultKind::kDeadlock, {});
  EXPECT_TRUE(ScoreFleet(truth, ReportOf(VerdictScope::kSoftware, VerdictClass::kDeadlock, {"a", "b"})).right);
  EXPECT_FALSE(ScoreFleet(truth, ReportOf(VerdictScope::kMachine, VerdictClass::kDeadlock, {"a"})).right);
}

TEST(FleetScoreTest, OfManySlowHostsMostHaveToBeNamed) {
  const Truth truth = TruthOf(FaultKind::kHostsSlow, {"a", "b", "c"});
  EXPECT_FALSE(ScoreFleet(truth, ReportOf(VerdictScope::kMachine, VerdictClass::kHostSlow, {"a", "b"})).right);
  EXPECT_TRUE(ScoreFleet(truth, ReportOf(VerdictScope::kMachine, VerdictClass::kHostSlow, {"a", "b", "c"})).right);
}

}  // namespace
}  // namespace lockstep
