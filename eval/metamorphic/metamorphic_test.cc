// The relations on a budget: a few small jobs, of which all must hold. `lockstep eval metamorphic` does it at length.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/job_evidence.h"
#include "detector/model/trace.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "eval/metamorphic/metamorphic_run.h"
#include "eval/metamorphic/relation.h"
#include "eval/metamorphic/subject.h"
#include "gtest/gtest.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {
namespace {

constexpr int32_t kSlowRank = 13;

JobReport IntactJudge(const JobEvidence& recording, double min_cost) {
  return Diagnose(recording, {.min_cost = min_cost});
}

JobSpec SmallJob(int32_t dimensions) {
  JobSpec job = TypicalJob(32, dimensions);
  job.schedule.steps = 24;
  return job;
}

JobEvidence Healthy() { return Simulate(SmallJob(3), {}, 5).evidence; }

JobEvidence WithSlowRank() {
  FaultSpec fault{.kind = FaultKind::kComputeSlow, .targets = {kSlowRank}, .severity = 0.4};
  fault.onset_step = 8;
  return Simulate(SmallJob(3), {&fault, 1}, 6).evidence;
}

JobEvidence Hung() {
  FaultSpec fault{.kind = FaultKind::kNotEntered, .targets = {kSlowRank}};
  fault.onset_step = 12;
  return Simulate(SmallJob(3), {&fault, 1}, 7).evidence;
}

MetamorphicPlan AllOf() {
  MetamorphicPlan plan;
  for (const Relation& relation : AllRelations()) plan.relations.push_back(&relation);
  return plan;
}

SourceOutcome Try(const JobEvidence& recording, const MetamorphicPlan& plan, const FileJudge& judge) {
  const RecordingSource source{
      .name = "test", .arguments = "PATH", .read = [&] { return std::vector<JobEvidence>{recording}; }};
  return RunSource(source, plan, judge);
}

// Fails with whatever contradicts; returns how often each relation could be tried.
std::map<std::string, RelationCount> ExpectAllHold(const JobEvidence& recording) {
  const SourceOutcome outcome = Try(recording, AllOf(), IntactJudge);
  for (const Contradiction& contradiction : outcome.contradictions) {
    ADD_FAILURE() << contradiction.relation << ": " << contradiction.what << "; as it is: " << contradiction.answer;
  }
  return outcome.by_relation;
}

TEST(MetamorphicTest, AHealthyJobStaysHealthyAndShowsWhatIsPlanted) {
  const auto tried = ExpectAllHold(Healthy());
  for (const char* relation :
       {"again", "rows", "files", "names", "ranks", "clocks", "units", "losses", "planted", "halves"}) {
    EXPECT_EQ(tried.at(relation).trials, 1) << relation;
  }
}

TEST(MetamorphicTest, ASlowRankIsFoundUnderAnyNameBesideAnotherAndNotWhenHealed) {
  const auto tried = ExpectAllHold(WithSlowRank());
  for (const char* relation : {"ranks", "losses", "healed", "halves"}) {
    EXPECT_EQ(tried.at(relation).trials, 1) << relation;
  }
}

TEST(MetamorphicTest, AHangStaysAHang) { ExpectAllHold(Hung()); }

// Judges that are broken on purpose, each in a way that one relation is there to notice.
JobReport WithFirstRankAccused(const JobEvidence& recording) {
  JobReport report = IntactJudge(recording, kMinCost);
  for (Verdict& verdict : report.verdicts) {
    for (Culprit& culprit : verdict.culprits) culprit.rank = recording.trace.ranks.front().rank;
  }
  return report;
}

// As if clocks of two hosts could be compared.
JobReport WithLatestHostAccused(const JobEvidence& recording) {
  JobReport report = IntactJudge(recording, kMinCost);
  int64_t latest_ns = 0;
  for (size_t rank = 0; rank < recording.trace.ranks.size(); ++rank) {
    const int64_t end_ns = recording.trace.OperationsOf(rank).back().end_ns;
    if (end_ns < latest_ns) continue;
    latest_ns = end_ns;
    for (Verdict& verdict : report.verdicts) {
      for (Culprit& culprit : verdict.culprits) culprit.rank = recording.trace.ranks[rank].rank;
    }
  }
  return report;
}

JobReport WithoutPatience(const JobEvidence& recording) {
  JobReport report = IntactJudge(recording, kMinCost);
  if (report.step_seconds_median > 5) report.verdicts.clear();
  return report;
}

JobReport Blind(const JobEvidence&) { return {.state = JobState::kHealthy}; }

// Whoever has the fewest records is accused.
JobReport WithPoorestAccused(const JobEvidence& recording) {
  JobReport report = IntactJudge(recording, kMinCost);
  const Trace& trace = recording.trace;
  size_t poorest = 0;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    if (trace.OperationsOf(rank).size() < trace.OperationsOf(poorest).size()) poorest = rank;
  }
  if (trace.OperationsOf(poorest).size() == trace.OperationsOf(0).size()) return report;
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kProcessDead);
  verdict.culprits = {{.host = trace.hosts[static_cast<size_t>(trace.ranks[poorest].host)], .confidence = 1}};
  report.verdicts.push_back(verdict);
  return report;
}

TEST(MetamorphicTest, ABrokenJudgeIsCaught) {
  const auto as_judge = [](JobReport (*judge)(const JobEvidence&)) {
    return [judge](const JobEvidence& recording, double) { return judge(recording); };
  };
  const JobEvidence slow = WithSlowRank(), healthy = Healthy();
  struct Row {
    const char* relation;
    const JobEvidence& recording;
    FileJudge judge;
  };
  const Row rows[] = {{"ranks", slow, as_judge(WithFirstRankAccused)},
                      {"clocks", slow, as_judge(WithLatestHostAccused)},
                      {"units", slow, as_judge(WithoutPatience)},
                      {"losses", healthy, as_judge(WithPoorestAccused)},
                      {"planted", healthy, as_judge(Blind)}};
  for (const auto& [relation, recording, judge] : rows) {
    MetamorphicPlan plan;
    plan.relations = {FindRelation(relation)};
    plan.trials = 3;  // chance may leave what is looked at as it was
    EXPECT_FALSE(Try(recording, plan, judge).contradictions.empty()) << relation;
    EXPECT_TRUE(Try(recording, plan, IntactJudge).contradictions.empty()) << relation;
  }
}

TEST(MetamorphicTest, WhatCannotBeReadIsSaid) {
  const RecordingSource source{.name = "x", .arguments = "x", .read = [] { return absl::DataLossError("torn"); }};
  const SourceOutcome outcome = RunSource(source, AllOf(), IntactJudge);
  EXPECT_EQ(outcome.unreadable, "torn");
  EXPECT_TRUE(outcome.by_relation.empty());
}

}  // namespace
}  // namespace lockstep
