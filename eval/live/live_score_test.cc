#include "eval/live/live_score.h"

#include <vector>

#include "base/clock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int64_t kOnsetNs = 20 * kNanosPerSecond;

// Rank 3 of node-1 is slow from 20 s on; steps take 1 s before and 2 s after.
Truth SlowRank() {
  Truth truth;
  truth.state = JobState::kSlow;
  truth.is_negative = false;
  TrueCause cause;
  cause.kind = FaultKind::kComputeSlow;
  cause.scope = VerdictScope::kMachine;
  cause.verdict_class = VerdictClass::kComputeSlow;
  cause.culprits = {{.host = "node-1", .rank = 3}};
  cause.first_step = 20;
  cause.onset_ns = kOnsetNs;
  cause.cost.slowdown_fraction = 1;
  truth.causes = {cause};
  truth.step_ns.assign(20, kNanosPerSecond);
  truth.step_ns.insert(truth.step_ns.end(), 10, 2 * kNanosPerSecond);
  return truth;
}

Truth HungRank() {
  Truth truth = SlowRank();
  truth.state = JobState::kHung;
  truth.hang_ns = kOnsetNs;
  truth.causes[0].kind = FaultKind::kNotEntered;
  truth.causes[0].verdict_class = VerdictClass::kHangNotEntered;
  return truth;
}

Verdict Blaming(const std::string& host, int32_t rank, VerdictClass verdict_class = VerdictClass::kComputeSlow) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, verdict_class);
  verdict.culprits = {{.host = host, .rank = rank}};
  verdict.cost.slowdown_fraction = 0.5;
  return verdict;
}

struct Said {
  double seconds;
  std::vector<Verdict> verdicts;
  JobState state = JobState::kSlow;
};

LiveScore ScoreOf(const Truth& truth, const std::vector<Said>& looks) {
  LiveScorer scorer(truth, 0.03);
  for (const Said& said : looks) {
    JobEngine::Conclusion conclusion;
    conclusion.verdicts = said.verdicts;
    JobSummary summary;
    summary.state = said.state;
    scorer.Look({static_cast<int64_t>(said.seconds * kNanosPerSecond), conclusion, summary, 1000});
  }
  return scorer.Finish();
}

TEST(LiveScoreTest, TheDelayCountsFromTheOnsetInSecondsAndInSteps) {
  const LiveScore score =
      ScoreOf(SlowRank(), {{10, {}}, {25, {}}, {27, {Blaming("node-1", 3)}}, {40, {Blaming("node-1", 3)}}});
  ASSERT_EQ(score.causes.size(), 1u);
  EXPECT_DOUBLE_EQ(score.causes[0].named_seconds, 7);
  EXPECT_DOUBLE_EQ(score.causes[0].named_steps, 3.5);
  EXPECT_DOUBLE_EQ(score.causes[0].step_seconds, 2);
  EXPECT_DOUBLE_EQ(score.causes[0].left_seconds, 20);
  EXPECT_TRUE(score.causes[0].at_end.top1);
  EXPECT_TRUE(score.state_right);
  EXPECT_TRUE(score.accused_wrongly.empty());
  EXPECT_EQ(score.hosts_accused, 1);
  EXPECT_EQ(score.false_incidents, 0);
}

TEST(LiveScoreTest, SilenceNamesNobodyEver) {
  const LiveScore score = ScoreOf(SlowRank(), {{10, {}}, {25, {}}, {40, {}}});
  EXPECT_EQ(score.causes[0].named_seconds, LiveCauseScore::kNever);
  EXPECT_DOUBLE_EQ(score.causes[0].left_seconds, 20);
  EXPECT_FALSE(score.causes[0].at_end.top1);
}

TEST(LiveScoreTest, WhoWasAccusedAtAnyLookWasAccused) {
  const LiveScore score = ScoreOf(SlowRank(), {{25, {Blaming("node-7", 60)}}, {40, {Blaming("node-1", 3)}}});
  EXPECT_EQ(score.accused_wrongly, std::vector<std::string>{"node-7"});
  EXPECT_EQ(score.hosts_accused, 2);
  EXPECT_EQ(score.false_incidents, 1);
  EXPECT_DOUBLE_EQ(score.causes[0].named_seconds, 20);
}

TEST(LiveScoreTest, BeforeItsFaultTheCulpritIsInnocent) {
  const LiveScore score = ScoreOf(SlowRank(), {{10, {Blaming("node-1", 3)}}, {25, {}}, {40, {}}});
  EXPECT_EQ(score.accused_wrongly, std::vector<std::string>{"node-1"});
  EXPECT_EQ(score.causes[0].named_seconds, LiveCauseScore::kNever);
}

TEST(LiveScoreTest, TheSetOfAHangMustStayExact) {
  const Verdict right = Blaming("node-1", 3, VerdictClass::kHangNotEntered);
  const LiveScore lost = ScoreOf(HungRank(), {{24, {right}}, {26, {}}, {30, {right}}, {50, {right}}});
  EXPECT_DOUBLE_EQ(lost.causes[0].named_seconds, 4);
  EXPECT_DOUBLE_EQ(lost.causes[0].exact_seconds, 10);
  const LiveScore gone = ScoreOf(HungRank(), {{24, {right}}, {50, {}}});
  EXPECT_EQ(gone.causes[0].exact_seconds, LiveCauseScore::kNever);
}

TEST(LiveScoreTest, AHangThatIsBlamedOnOthersAsWellIsNotExact) {
  const Verdict right = Blaming("node-1", 3, VerdictClass::kHangNotEntered);
  Verdict other = Blaming("node-2", 20, VerdictClass::kDeadlock);
  other.scope = VerdictScope::kSoftware;
  const LiveScore score = ScoreOf(HungRank(), {{24, {right, other}}, {50, {right, other}}});
  EXPECT_EQ(score.causes[0].exact_seconds, LiveCauseScore::kNever);
  EXPECT_EQ(score.false_incidents, 1);
}

TEST(LiveScoreTest, UnknownCountsOnceAnEngineCouldKnow) {
  std::vector<Said> looks;
  for (int second = 1; second <= 30; ++second) {
    looks.push_back({static_cast<double>(second), {}, second <= 20 ? JobState::kUnknown : JobState::kHealthy});
  }
  Truth healthy;
  healthy.step_ns.assign(30, kNanosPerSecond);
  const LiveScore score = ScoreOf(healthy, looks);
  // Records are there from 1 s on; five seconds and five steps later an engine could know.
  EXPECT_EQ(score.looks_with_records, 20);
  EXPECT_EQ(score.unknown_looks, 10);
  EXPECT_TRUE(score.state_right);
}

TEST(LiveScoreTest, StepsAreCountedWithTheirParts) {
  const Truth truth = SlowRank();
  EXPECT_DOUBLE_EQ(StepsIn(3, 18, truth), 2.5);
  EXPECT_DOUBLE_EQ(StepsIn(4, 20, truth), 2);
  EXPECT_DOUBLE_EQ(StepsIn(24, 20, truth), 12) << "steps beyond the last are as long as the last";
  EXPECT_DOUBLE_EQ(StepsIn(4, 0, Truth()), 0);
}

}  // namespace
}  // namespace lockstep
