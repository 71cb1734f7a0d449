#include "eval/scoring/episode_score.h"

#include <string>
#include <utility>
#include <vector>

#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "eval/baselines/baseline.h"
#include "eval/scoring/culprit_match.h"
#include "eval/testing/small_trace.h"
#include "gtest/gtest.h"
#include "sim/episode.h"
#include "sim/fault_spec.h"

namespace lockstep {
namespace {

constexpr double kMinCost = 0.03;

Culprit Named(std::string host, int32_t rank = -1, std::string peer = "") {
  Culprit culprit;
  culprit.host = std::move(host);
  culprit.rank = rank;
  culprit.peer_host = std::move(peer);
  return culprit;
}

TrueCause Cause(FaultKind kind, std::vector<Culprit> culprits, double cost = 0.2) {
  TrueCause cause;
  cause.kind = kind;
  cause.scope = InfoOf(kind).scope;
  cause.verdict_class = InfoOf(kind).verdict_class;
  cause.culprits = std::move(culprits);
  cause.cost.slowdown_fraction = cost;
  return cause;
}

Truth TruthOf(std::vector<TrueCause> causes, JobState state = JobState::kSlow) {
  Truth truth;
  truth.state = state;
  truth.causes = std::move(causes);
  return truth;
}

Verdict Says(VerdictScope scope, VerdictClass verdict_class, std::vector<Culprit> culprits) {
  Verdict verdict =
      scope == VerdictScope::kUnknown ? Verdict::Observation(verdict_class) : Verdict::Accusation(scope, verdict_class);
  verdict.culprits = std::move(culprits);
  return verdict;
}

JobReport Report(std::vector<Verdict> verdicts, JobState state = JobState::kSlow) {
  JobReport report;
  report.verdicts = std::move(verdicts);
  report.state = state;
  return report;
}

Verdict ComputeSlow(std::vector<Culprit> culprits) {
  return Says(VerdictScope::kMachine, VerdictClass::kComputeSlow, std::move(culprits));
}

const Truth kSlowRank = TruthOf({Cause(FaultKind::kComputeSlow, {Named("a", 3)})});

TEST(EpisodeScoreTest, TheRightAnswer) {
  const EpisodeScore score = ScoreReport(Report({ComputeSlow({Named("a", 3)})}), kSlowRank, kMinCost);
  const CauseScore& cause = score.causes[0];
  EXPECT_TRUE(cause.accusable && cause.top1 && cause.top1_host && cause.top3 && cause.named && cause.exact_set);
  EXPECT_TRUE(cause.class_right && score.state_right);
  EXPECT_EQ(cause.predicted, "compute_slow");
  EXPECT_EQ(cause.culprits_named, 1);
  EXPECT_TRUE(score.accused_wrongly.empty());
  EXPECT_EQ(score.hosts_accused, 1);
}

TEST(EpisodeScoreTest, SilenceIsWrongWhereSomebodyIsToBlame) {
  const EpisodeScore score = ScoreReport(Report({}, JobState::kHealthy), kSlowRank, kMinCost);
  EXPECT_FALSE(score.causes[0].top1 || score.causes[0].named || score.causes[0].exact_set);
  EXPECT_FALSE(score.causes[0].class_right || score.state_right);
  EXPECT_EQ(score.causes[0].predicted, "none");
}

TEST(EpisodeScoreTest, TheWrongGpuOfTheRightMachineIsNotExact) {
  const EpisodeScore score = ScoreReport(Report({ComputeSlow({Named("a", 4)})}), kSlowRank, kMinCost);
  EXPECT_FALSE(score.causes[0].top1 || score.causes[0].named || score.causes[0].exact_set);
  EXPECT_TRUE(score.causes[0].top1_host);
  EXPECT_TRUE(score.accused_wrongly.empty()) << "no other machine was accused";
}

TEST(EpisodeScoreTest, AnotherMachineIsAFalseAccusationEvenBesideTheRightOne) {
  const EpisodeScore score =
      ScoreReport(Report({ComputeSlow({Named("b", 9)}), ComputeSlow({Named("a", 3)})}), kSlowRank, kMinCost);
  EXPECT_FALSE(score.causes[0].top1);
  EXPECT_TRUE(score.causes[0].top3 && score.causes[0].named);
  EXPECT_EQ(score.accused_wrongly, std::vector<std::string>{"b"});
}

TEST(EpisodeScoreTest, AnObservationOfUnknownScopeIsNoSuspect) {
  const EpisodeScore score = ScoreReport(
      Report({Says(VerdictScope::kUnknown, VerdictClass::kComputeSlow, {Named("a", 3)})}), kSlowRank, kMinCost);
  EXPECT_FALSE(score.causes[0].top1 || score.causes[0].named);
  EXPECT_EQ(score.hosts_accused, 0);
}

TEST(EpisodeScoreTest, ACheapCauseCountsNeitherWayButOthersStayInnocent) {
  const Truth cheap = TruthOf({Cause(FaultKind::kComputeSlow, {Named("a", 3)}, 0.01)}, JobState::kHealthy);
  EXPECT_FALSE(ScoreReport(Report({}), cheap, kMinCost).causes[0].accusable);
  EXPECT_EQ(ScoreReport(Report({ComputeSlow({Named("b", 9)})}), cheap, kMinCost).accused_wrongly.size(), 1u);
  EXPECT_TRUE(ScoreReport(Report({ComputeSlow({Named("a", 3)})}), cheap, kMinCost).accused_wrongly.empty());
}

TEST(EpisodeScoreTest, HangsNeedNoCost) {
  const Truth hung = TruthOf({Cause(FaultKind::kNotEntered, {Named("a", 3)}, 0)}, JobState::kHung);
  EXPECT_TRUE(ScoreReport(Report({}), hung, kMinCost).causes[0].accusable);
}

TEST(EpisodeScoreTest, TheSetOfAHangIsAllVerdictsAboutItTogether) {
  const Truth hung = TruthOf({Cause(FaultKind::kNotEntered, {Named("a", 3), Named("b", 9)}, 0)}, JobState::kHung);
  const auto not_entered = [](std::vector<Culprit> culprits) {
    return Says(VerdictScope::kMachine, VerdictClass::kHangNotEntered, std::move(culprits));
  };
  const auto exact = [&](std::vector<Verdict> verdicts) {
    return ScoreReport(Report(std::move(verdicts)), hung, kMinCost).causes[0].exact_set;
  };
  EXPECT_TRUE(exact({not_entered({Named("a", 3), Named("b", 9)})}));
  EXPECT_TRUE(exact({not_entered({Named("b", 9)}), not_entered({Named("a", 3)})}));
  EXPECT_FALSE(exact({not_entered({Named("a", 3)})}));
  EXPECT_FALSE(exact({not_entered({Named("a", 3), Named("b", 9), Named("c", 17)})}));
}

TEST(EpisodeScoreTest, ALinkHasTwoEndsInAnyOrder) {
  const Truth truth = TruthOf({Cause(FaultKind::kLinkSlow, {Named("a", -1, "b")})});
  const auto top1 = [&](Culprit culprit) {
    return ScoreReport(Report({Says(VerdictScope::kNetwork, VerdictClass::kLinkSlow, {culprit})}), truth, kMinCost)
        .causes[0]
        .top1;
  };
  EXPECT_TRUE(top1(Named("a", -1, "b")));
  EXPECT_TRUE(top1(Named("b", -1, "a")));
  EXPECT_FALSE(top1(Named("a", -1, "c")));
  EXPECT_FALSE(top1(Named("a")));
}

TEST(EpisodeScoreTest, ANicIsItsHostUnlessTheAnswerIsMorePrecise) {
  Culprit nic = Named("a", 3);
  nic.device = "mlx5_3";
  const Truth truth = TruthOf({Cause(FaultKind::kNicSendSlow, {nic})});
  const auto top1 = [&](Culprit culprit) {
    return ScoreReport(Report({Says(VerdictScope::kNetwork, VerdictClass::kCommSlowTx, {culprit})}), truth, kMinCost)
        .causes[0]
        .top1;
  };
  EXPECT_TRUE(top1(Named("a")));
  EXPECT_TRUE(top1(Named("a", 3)));
  EXPECT_FALSE(top1(Named("a", 4)));
}

TEST(EpisodeScoreTest, AGroupTooLargeToBeNamedIsToldByItsTransfers) {
  TrueCause cause = Cause(FaultKind::kNicSendSlow, {Named("a", 3)});
  cause.indistinguishable_hosts = {"a", "b", "c"};
  const Truth truth = TruthOf({cause});
  const auto score = [&](std::vector<int32_t> ranks) {
    Verdict verdict = Says(VerdictScope::kNetwork, VerdictClass::kGroupSlow, {});
    verdict.evidence = {{EvidenceKind::kDelayMatrix, SlowPathTransfers{.place = {.ranks = std::move(ranks)}}}};
    return ScoreReport(Report({verdict}), truth, kMinCost).causes[0];
  };
  EXPECT_TRUE(score({3, 11, 19}).top1 && score({3, 11, 19}).named);
  EXPECT_FALSE(score({3, 11, 19}).exact_set) << "nobody is named";
  EXPECT_FALSE(score({4, 12, 20}).named) << "another group";
}

TEST(EpisodeScoreTest, AGroupThatCannotBeToldApartMayBeListedWhole) {
  TrueCause cause = Cause(FaultKind::kNicSendSlow, {Named("a", 3)});
  cause.indistinguishable_hosts = {"a", "b", "c"};
  const Truth truth = TruthOf({cause});
  const auto score = [&](std::vector<Culprit> culprits, VerdictClass verdict_class) {
    return ScoreReport(Report({Says(VerdictScope::kNetwork, verdict_class, std::move(culprits))}), truth, kMinCost);
  };
  const EpisodeScore whole = score({Named("c"), Named("b"), Named("a")}, VerdictClass::kGroupSlow);
  EXPECT_TRUE(whole.causes[0].top1 && whole.causes[0].exact_set);
  EXPECT_TRUE(whole.accused_wrongly.empty());
  EXPECT_FALSE(score({Named("c"), Named("b")}, VerdictClass::kGroupSlow).causes[0].named) << "the culprit is missing";
  EXPECT_FALSE(score({Named("d"), Named("a")}, VerdictClass::kGroupSlow).causes[0].top1);
  EXPECT_FALSE(score({Named("c"), Named("a")}, VerdictClass::kCommSlowTx).causes[0].top1);
}

TEST(EpisodeScoreTest, TheEndsOfAStuckTransferMayBeListedOneByOne) {
  const Truth truth = TruthOf({Cause(FaultKind::kTransferStuck, {Named("a", -1, "b")}, 0)}, JobState::kHung);
  const auto exact = [&](std::vector<Culprit> culprits) {
    const Verdict verdict = Says(VerdictScope::kNetwork, VerdictClass::kHangInCommunication, std::move(culprits));
    return ScoreReport(Report({verdict}), truth, kMinCost).causes[0].exact_set;
  };
  EXPECT_TRUE(exact({Named("b", -1, "a")}));
  EXPECT_TRUE(exact({Named("a", 3), Named("b", 9)}));
  EXPECT_FALSE(exact({Named("a", 3)}));
  EXPECT_FALSE(exact({Named("a", 3), Named("b", 9), Named("c", 17)}));
}

TEST(EpisodeScoreTest, BothOfTwoThatDisagreeOnACallMayBeListed) {
  const Truth truth = TruthOf({Cause(FaultKind::kMismatch, {Named("a", 3)}, 0)}, JobState::kHung);
  const auto score = [&](std::vector<Culprit> culprits) {
    const Verdict verdict = Says(VerdictScope::kSoftware, VerdictClass::kCollectiveMismatch, std::move(culprits));
    return ScoreReport(Report({verdict}), truth, kMinCost).causes[0];
  };
  EXPECT_TRUE(score({Named("b", 9), Named("a", 3)}).exact_set);
  EXPECT_TRUE(score({Named("b", 9), Named("a", 3)}).top1);
  EXPECT_FALSE(score({Named("b", 9), Named("c", 17), Named("a", 3)}).exact_set);
  EXPECT_FALSE(score({Named("b", 9)}).top1);
}

TEST(EpisodeScoreTest, StructureIsNamedAndNobodyIsBlamed) {
  const Truth truth = TruthOf({Cause(FaultKind::kStageImbalance, {})});
  const Verdict stage = Says(VerdictScope::kStructural, VerdictClass::kStageImbalance, {});
  const EpisodeScore right = ScoreReport(Report({stage}), truth, kMinCost);
  EXPECT_TRUE(right.causes[0].class_right && !right.causes[0].accusable);
  const EpisodeScore blaming = ScoreReport(Report({stage, ComputeSlow({Named("a", 3)})}), truth, kMinCost);
  EXPECT_FALSE(blaming.causes[0].class_right);
  EXPECT_EQ(blaming.causes[0].predicted, "compute_slow");
  EXPECT_EQ(blaming.accused_wrongly.size(), 1u);
}

TEST(EpisodeScoreTest, SilenceIsTheAnswerToWhatLeavesNoMark) {
  const Truth truth = TruthOf({Cause(FaultKind::kSilentCorruption, {})}, JobState::kHealthy);
  EXPECT_TRUE(ScoreReport(Report({}, JobState::kHealthy), truth, kMinCost).causes[0].class_right);
  EXPECT_FALSE(ScoreReport(Report({ComputeSlow({Named("a", 3)})}), truth, kMinCost).causes[0].class_right);
}

TEST(EpisodeScoreTest, TwoCausesAreScoredOneByOne) {
  const Truth truth =
      TruthOf({Cause(FaultKind::kComputeSlow, {Named("a", 3)}), Cause(FaultKind::kNicReceiveSlow, {Named("b", 9)})});
  const EpisodeScore score = ScoreReport(Report({ComputeSlow({Named("a", 3)})}), truth, kMinCost);
  EXPECT_TRUE(score.causes[0].named);
  EXPECT_FALSE(score.causes[1].named);
  EXPECT_EQ(score.causes[1].predicted, "none");
}

TEST(RankingScoreTest, RecallLooksAtAsManySuspectsAsThereAreCulprits) {
  const Trace trace = SmallTrace(6).Build();
  TrueCause cause = Cause(FaultKind::kComputeSlow, {Named("node-1", 1), Named("node-2", 2)});
  const Ranking ranking = RankedByScore({0, 5, 1, 4, 0, 0}, {false, true, false, true, false, false});
  const RankingScore score = ScoreRanking(ranking, trace, TruthOf({cause}));
  EXPECT_TRUE(score.top1 && score.top1_host && score.top3);
  EXPECT_DOUBLE_EQ(score.recall, 0.5);
  EXPECT_EQ(score.accused, 2);
  EXPECT_EQ(score.accused_wrongly, 1);
}

TEST(RankingScoreTest, OneEndOfALinkIsEnough) {
  const Trace trace = SmallTrace(3).Build();
  const TrueCause cause = Cause(FaultKind::kLinkSlow, {Named("node-0", -1, "node-2")});
  EXPECT_TRUE(ScoreRanking(RankedByScore({0, 0, 1}, {}), trace, TruthOf({cause})).top1);
  EXPECT_FALSE(ScoreRanking(RankedByScore({0, 1, 0}, {}), trace, TruthOf({cause})).top1);
}

}  // namespace
}  // namespace lockstep
