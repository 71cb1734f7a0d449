// What NCCL's RAS service says, from an agent's report to the verdict.

#include "collector/convert/ras_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "collector/convert/convert.h"
#include "collector/testing/report_builder.h"
#include "detector/engine/job_engine.h"

namespace lockstep {
namespace {

constexpr uint64_t kWorld = 0xc0ffee;  // as in collector/testing
constexpr int64_t kBegin = 1'000 * kNanosPerSecond;

void AddBehind(int32_t rank, wire::NcclRasReport& ras) {
  ras.set_communicators(1);
  wire::NcclRasCommunicator& finding = *ras.add_findings();
  finding.set_id(kWorld);
  finding.set_size(4);
  wire::NcclRasMismatch& mismatch = *finding.add_mismatches();
  mismatch.set_kind(wire::OPERATION_KIND_ALL_REDUCE);
  mismatch.set_highest(31);
  mismatch.set_lowest(30);
  mismatch.set_ranks_behind(1);
  mismatch.add_first_behind(rank);
}

JobEngine::Conclusion Tell(JobEngine& engine, wire::AgentReport report, int64_t received_ns) {
  wire::CaptureInput input;
  input.set_job("train");
  input.set_host("node-1");
  input.set_received_wall_ns(received_ns);
  if (report.has_nccl_ras()) report.mutable_nccl_ras()->set_asked_monotonic_ns(report.monotonic_ns());
  *input.mutable_report() = std::move(report);
  ConvertLosses losses;
  const absl::StatusOr<HostReport> converted = ToHostReport(input, losses);
  EXPECT_OK(converted);
  engine.Observe(*converted);
  return engine.Evaluate(received_ns);
}

TEST(RasStatementTest, EachNamedRankIsAClaimAndImpossibleOnesAreCounted) {
  wire::NcclRasReport report;
  AddBehind(2, report);
  wire::NcclRasCommunicator& finding = *report.mutable_findings(0);
  finding.mutable_mismatches(0)->add_first_behind(4);
  wire::NcclRasMissingRank& missing = *finding.add_missing();
  missing.set_rank(1);
  missing.set_host("10.0.0.1");
  missing.set_pid(77);
  missing.set_considered_dead(true);
  missing.set_unresponsive(true);
  finding.add_errors()->set_rank(-1);
  finding.set_missing_left_out(5);
  ASSERT_OK(CheckRas(report));
  ConvertLosses losses;
  const RasStatement answer = ToRasStatement(report, losses);
  EXPECT_EQ(losses.odd_ras_claims, 2u);
  EXPECT_EQ(answer.left_out, 5u);
  ASSERT_EQ(answer.claims.size(), 2u);
  EXPECT_EQ(
      answer.claims[0],
      (RasClaim{
          .kind = RasClaimKind::kDead, .communicator = kWorld, .size = 4, .rank = 1, .host = "10.0.0.1", .pid = 77}));
  EXPECT_EQ(answer.claims[1].kind, RasClaimKind::kBehind);
  EXPECT_EQ(answer.claims[1].operation, OperationKind::kAllReduce);
  EXPECT_EQ(answer.claims[1].highest, 31u);
}

TEST(RasStatementTest, AJobWithoutRecordersIsJudgedByRasOnceNothingHasMovedForLong) {
  JobEngine engine({});
  JobEngine::Conclusion conclusion;
  for (int i = 0; i < 3; ++i) {
    wire::AgentReport report = MakeHostReport(static_cast<uint64_t>(i) + 1, 0.5);
    AddBehind(2, *report.mutable_nccl_ras());
    EXPECT_TRUE(conclusion.verdicts.empty());
    conclusion = Tell(engine, std::move(report), kBegin + i * 15 * kNanosPerSecond);
    EXPECT_TRUE(conclusion.can_conclude);
  }
  ASSERT_EQ(conclusion.verdicts.size(), 1u);
  EXPECT_EQ(conclusion.verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(conclusion.verdicts[0].culprits[0].rank, 2);
  EXPECT_LE(conclusion.verdicts[0].culprits[0].confidence, 0.5);
  EXPECT_EQ(engine.summary().state, JobState::kHung);
  // An answer that finds nothing ends it.
  wire::AgentReport healed = MakeHostReport(4, 0.5);
  healed.mutable_nccl_ras()->set_communicators(1);
  conclusion = Tell(engine, std::move(healed), kBegin + 46 * kNanosPerSecond);
  EXPECT_TRUE(conclusion.can_conclude);
  EXPECT_TRUE(conclusion.verdicts.empty());
  EXPECT_EQ(engine.summary().state, JobState::kUnknown);
}

// Ranks that have taken `steps` steps and stand in the next one, but for rank 2, which has not entered it.
wire::AgentReport Stuck(uint64_t sequence, int64_t steps, int64_t age_ns) {
  TestRanks ranks;
  ranks.ranks = 4;
  ranks.first_step = steps;
  ranks.steps = 1;
  wire::AgentReport report = MakeTestReport(sequence, ranks);
  report.set_monotonic_ns(report.monotonic_ns() + age_ns);
  for (wire::ProcessReport& process : *report.mutable_processes()) {
    wire::CommunicatorReport& world = *process.mutable_communicators(0);
    world.clear_operations();
    world.set_idle_ns(age_ns);
    if (process.rank() == 2) continue;
    world.set_enqueued(static_cast<uint64_t>(steps) + 1);
    world.set_started(static_cast<uint64_t>(steps) + 1);
    wire::InFlight& inside = *world.mutable_oldest_in_flight();
    inside.set_kind(wire::OPERATION_KIND_ALL_REDUCE);
    inside.set_sequence(static_cast<uint64_t>(steps) + 1);
    inside.set_started(true);
    inside.set_age_ns(age_ns);
    inside.set_peer(-1);
  }
  return report;
}

TEST(RasStatementTest, WhatRasSaysOfTheRankThatOthersWaitForIsQuoted) {
  JobEngine engine({});
  uint64_t sequence = 1;
  for (; sequence <= 6; ++sequence) {
    TestRanks ranks;
    ranks.ranks = 4;
    ranks.first_step = 5 * (static_cast<int64_t>(sequence) - 1) + 1;
    ranks.steps = 5;
    wire::AgentReport report = MakeTestReport(sequence, ranks);
    // In a job that runs, a difference in launches is no fault.
    AddBehind(2, *report.mutable_nccl_ras());
    const auto received_ns = static_cast<int64_t>(kBegin + sequence * kNanosPerSecond / 2);
    EXPECT_TRUE(Tell(engine, std::move(report), received_ns).verdicts.empty());
  }
  const int64_t stuck_ns = kBegin + 3 * kNanosPerSecond;
  JobEngine::Conclusion conclusion;
  // Nobody answers what is pulled: without known steps a standstill counts after 30 s.
  for (int64_t age_s = 1; age_s <= 40 && conclusion.verdicts.empty(); ++age_s, ++sequence) {
    wire::AgentReport report = Stuck(sequence, 30, age_s * kNanosPerSecond);
    AddBehind(2, *report.mutable_nccl_ras());
    conclusion = Tell(engine, std::move(report), stuck_ns + age_s * kNanosPerSecond);
  }
  ASSERT_EQ(conclusion.verdicts.size(), 1u);
  const Verdict& verdict = conclusion.verdicts[0];
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(verdict.culprits[0].rank, 2);
  EXPECT_TRUE(std::any_of(verdict.evidence.begin(), verdict.evidence.end(), [](const Evidence& evidence) {
    return evidence.text().find("NCCL's RAS service") == 0 &&
           evidence.text().find("rank 2 is behind") != std::string::npos;
  }));
}

}  // namespace
}  // namespace lockstep
