#include "detector/verdict/verdict.h"

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <variant>

#include "detector/model/input.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

Verdict SlowRank() {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits = {{.host = "node-a", .rank = 2, .gpu = -1, .pid = 41, .confidence = 0.97}};
  verdict.first_step = 100;
  verdict.last_step = 140;
  verdict.first_seen_ns = 5;
  verdict.last_seen_ns = 9;
  verdict.cost = {.slowdown_fraction = 0.15, .seconds_per_step = 0.0140000001, .steps_affected_fraction = 1};
  verdict.evidence = {{EvidenceKind::kLateness, InputNote{"Rank 2 is \"late\"\n\\"}}};
  verdict.advice = Advice::kCordonAndReplace;
  return verdict;
}

TEST(VerdictTest, JsonIsOneLineOfFixedBytes) {
  EXPECT_EQ(
      ToJsonLine(SlowRank()),
      "{\"scope\":\"machine\",\"class\":\"compute_slow\",\"culprits\":[{\"host\":\"node-a\",\"rank\":2,\"gpu\":-1,"
      "\"pid\":41,\"device\":\"\",\"peer_host\":\"\",\"confidence\":0.97}],\"first_step\":100,\"last_step\":140,"
      "\"first_seen_ns\":5,\"last_seen_ns\":9,\"cost\":{\"slowdown_fraction\":0.15,\"seconds_per_step\":0.014,"
      "\"steps_affected_fraction\":1},\"evidence\":[{\"kind\":\"lateness\",\"text\":"
      "\"Rank 2 is \\\"late\\\"\\u000a\\\\\"}],\"advice\":\"cordon_and_replace\"}");
}

static_assert(!std::is_default_constructible_v<Verdict>, "a finding says its type and class");
static_assert(!std::is_aggregate_v<Verdict>, "a finding is made by its factories only");
static_assert(!std::is_default_constructible_v<StatedClass>, "a member of this type has to be given");

TEST(VerdictTest, AnObservationHasAClassAndNoScope) {
  const Verdict verdict = Verdict::Observation(VerdictClass::kCounterOutlier);
  EXPECT_EQ(verdict.type(), FindingType::kObservation);
  EXPECT_EQ(ToJsonLine(verdict),
            "{\"scope\":\"unknown\",\"class\":\"counter_outlier\",\"culprits\":[],\"first_step\":-1,"
            "\"last_step\":-1,\"first_seen_ns\":0,\"last_seen_ns\":0,\"cost\":{\"slowdown_fraction\":0,"
            "\"seconds_per_step\":0,\"steps_affected_fraction\":0},\"evidence\":[],\"advice\":\"observe\"}");
}

TEST(VerdictTest, AnAbstentionHasNeitherClassNorScope) {
  const Verdict verdict = Verdict::Abstention(LostRecords{.lost = 3, .all = 8});
  EXPECT_EQ(verdict.type(), FindingType::kAbstention);
  EXPECT_EQ(ToJsonLine(verdict),
            "{\"scope\":\"unknown\",\"class\":\"unknown\",\"culprits\":[],\"first_step\":-1,"
            "\"last_step\":-1,\"first_seen_ns\":0,\"last_seen_ns\":0,\"cost\":{\"slowdown_fraction\":0,"
            "\"seconds_per_step\":0,\"steps_affected_fraction\":0},\"evidence\":[{\"kind\":\"abstained\",\"text\":"
            "\"3 of 8 records are lost: too many to tell that nothing is wrong.\"}],\"advice\":\"none\"}");
  EXPECT_FALSE(IsHang(verdict.verdict_class));
}

std::set<std::string> ClassesOf(bool (*holds)(VerdictClass)) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(VerdictClass::kCounterOutlier); ++i) {
    if (holds(static_cast<VerdictClass>(i))) names.insert(Name(static_cast<VerdictClass>(i)));
  }
  return names;
}

TEST(VerdictTest, AClassIsFoundByItsNameAndByNoOther) {
  for (int i = 0; i <= static_cast<int>(VerdictClass::kCounterOutlier); ++i) {
    const auto of = static_cast<VerdictClass>(i);
    EXPECT_EQ(ClassOf(Name(of)), of) << Name(of);
    EXPECT_EQ(IsHang(Name(of)), IsHang(of)) << Name(of);
    EXPECT_EQ(IsHangInCalls(Name(of)), IsHangInCalls(of)) << Name(of);
  }
  for (const char* const other : {"", "unknown", "Deadlock", "deadlock ", "class_of_next_year"}) {
    EXPECT_EQ(ClassOf(other), std::nullopt) << other;
    EXPECT_FALSE(IsHang(other)) << other;
    EXPECT_FALSE(IsHangInCalls(other)) << other;
  }
}

TEST(VerdictTest, HangsAreThese) {
  EXPECT_EQ(ClassesOf(IsHang),
            (std::set<std::string>{"hang_not_entered", "hang_in_communication", "collective_mismatch", "deadlock",
                                   "process_dead", "machine_unreachable", "gpu_fault"}));
  EXPECT_EQ(ClassesOf(IsHangInCalls),
            (std::set<std::string>{"hang_not_entered", "hang_in_communication", "collective_mismatch", "deadlock"}));
}

TEST(VerdictTest, FurtherReasonsFollowInOrder) {
  Verdict verdict = Verdict::Abstention(NoMeeting{});
  verdict.Add(InputNote{"No times."});
  ASSERT_EQ(verdict.evidence.size(), 2u);
  EXPECT_NE(FindReason<NoMeeting>(verdict), nullptr);
  EXPECT_EQ(FindReason<FewSteps>(verdict), nullptr);
  EXPECT_EQ(verdict.evidence[1], (Evidence{EvidenceKind::kAbstained, InputNote{"No times."}}));
}

TEST(VerdictTest, ATakenBackAccusationIsAnObservationOfTheSame) {
  Verdict verdict = SlowRank();
  EXPECT_EQ(verdict.type(), FindingType::kAccusation);
  verdict.BecomeObservation();
  EXPECT_EQ(verdict.type(), FindingType::kObservation);
  EXPECT_EQ(verdict.advice, Advice::kObserve);
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kComputeSlow);
  EXPECT_EQ(verdict.culprits, SlowRank().culprits);
}

TEST(VerdictDeathTest, TypesDoNotMix) {
  EXPECT_DEATH(Verdict::Accusation(VerdictScope::kUnknown, VerdictClass::kDrift), "");
  EXPECT_DEATH(Verdict::Observation(VerdictClass::kDrift).Add(NoRecords{}), "");
  EXPECT_DEATH(Verdict::Abstention(NoRecords{}).BecomeObservation(), "");
}

TEST(VerdictTest, JsonHasNoNumberThatJsonDoesNotKnow) {
  Verdict verdict = SlowRank();
  verdict.culprits[0].confidence = std::numeric_limits<double>::quiet_NaN();
  verdict.cost = {-0.0, std::numeric_limits<double>::infinity(), 0};
  const std::string line = ToJsonLine(verdict);
  EXPECT_NE(line.find("\"confidence\":0}"), std::string::npos) << line;
  EXPECT_NE(line.find("\"slowdown_fraction\":0,\"seconds_per_step\":0,"), std::string::npos) << line;
}

TEST(VerdictTest, CauseIsFamilyAndCulpritsWhateverElseChanges) {
  Verdict a = SlowRank();
  Verdict b = a;
  b.verdict_class = VerdictClass::kStorageStall;
  b.culprits[0].confidence = 0.5;
  b.culprits[0].pid = 99;
  b.last_step = 999;
  b.evidence.clear();
  EXPECT_EQ(CauseKey(a), "slow:node-a/rank2");
  EXPECT_EQ(CauseKey(a), CauseKey(b));
  b.verdict_class = VerdictClass::kHangNotEntered;
  EXPECT_NE(CauseKey(a), CauseKey(b));
  Verdict c = b;
  c.verdict_class = VerdictClass::kHangInCommunication;
  EXPECT_EQ(CauseKey(b), CauseKey(c));
}

TEST(VerdictTest, CauseDoesNotDependOnOrderAndStaysShort) {
  Verdict verdict = SlowRank();
  verdict.culprits.clear();
  for (int rank = 0; rank < 1000; ++rank) verdict.culprits.push_back({.host = "n", .rank = rank});
  Verdict reversed = verdict;
  reversed.culprits = {verdict.culprits.rbegin(), verdict.culprits.rend()};
  EXPECT_EQ(CauseKey(verdict), CauseKey(reversed));
  EXPECT_LT(CauseKey(verdict).size(), 200u);
  reversed.culprits.back().rank = 5000;
  EXPECT_NE(CauseKey(verdict), CauseKey(reversed));
}

TEST(VerdictTest, NamesAreThoseOfTheInterface) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(VerdictClass::kCounterOutlier); ++i) names.insert(Name(VerdictClass(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(VerdictClass::kCounterOutlier) + 1);
  EXPECT_STREQ(Name(VerdictClass::kDrift), "drift");
  EXPECT_STREQ(Name(VerdictScope::kStructural), "structural");
  EXPECT_STREQ(Name(Advice::kCheckSoftware), "check_software");
  EXPECT_STREQ(Name(EvidenceKind::kWhatIf), "whatif");
  EXPECT_STREQ(Name(JobState::kEnded), "ended");
  EXPECT_STREQ(Name(VerdictClass(200)), "unknown");
}

TEST(OperationKindTest, RootedAndPointToPointAreNotSynchronous) {
  EXPECT_TRUE(IsSynchronous(OperationKind::kAllReduce));
  EXPECT_TRUE(IsSynchronous(OperationKind::kBarrier));
  EXPECT_TRUE(IsSynchronous(OperationKind::kUnknown));
  EXPECT_FALSE(IsSynchronous(OperationKind::kBroadcast));
  EXPECT_FALSE(IsSynchronous(OperationKind::kSend));
  EXPECT_STREQ(Name(OperationKind::kReduceScatter), "ReduceScatter");
  EXPECT_STREQ(Name(OperationKind(77)), "Unknown");
}

}  // namespace
}  // namespace lockstep
