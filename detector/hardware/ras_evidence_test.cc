#include "detector/hardware/ras_evidence.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/clock.h"
#include "detector/hardware/ras_verdict.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kNow = 200 * kSecond;
constexpr CommunicatorId kWorld = 7;
constexpr int32_t kRanks = 6;

RasClaim Claim(RasClaimKind kind, int32_t rank) {
  RasClaim claim{.kind = kind, .communicator = kWorld, .size = kRanks, .rank = rank};
  if (kind == RasClaimKind::kBehind) {
    claim.operation = OperationKind::kAllReduce;
    claim.highest = 17;
    claim.lowest = 16;
    claim.ranks_behind = 1;
  } else if (kind != RasClaimKind::kError) {
    claim.host = "10.0.0." + std::to_string(rank);
    claim.pid = 900 + rank;
  }
  return claim;
}

class RasTest : public ::testing::Test {
 protected:
  // All ranks of the job in one communicator, one per host.
  void Record() {
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      const RankView view{.rank = rank, .pid = 10 + rank, .process_state = ProcessState::kRunning};
      roster_.Update(roster_.TouchHost("h" + std::to_string(rank), kNow), view, kNow, 0);
      CommunicatorView world{.id = kWorld, .name = "world", .size = kRanks, .communicator_rank = rank};
      roster_.Join(roster_.SlotOfRank(rank), world);
    }
  }

  // The same answer to `times` questions, 20 s apart; the last one just now.
  void Say(const std::vector<RasClaim>& claims, int times, uint32_t left_out = 0) {
    for (int i = times - 1; i >= 0; --i) {
      const RasStatement answer{.asked_host_ns = 0, .communicators = 2, .left_out = left_out, .claims = claims};
      memory_.Observe("h0", answer, kNow - i * 20 * kSecond, 0);
    }
  }

  static Verdict Hang(VerdictScope scope, VerdictClass verdict_class, const std::vector<int32_t>& ranks) {
    Verdict verdict = Verdict::Accusation(scope, verdict_class);
    verdict.first_seen_ns = kNow - 10 * kSecond;
    for (const int32_t rank : ranks) verdict.culprits.push_back({.host = "h" + std::to_string(rank), .rank = rank});
    return verdict;
  }

  Verdict WithRas(const Verdict& hang) const {
    std::vector<Verdict> hangs = {hang};
    AddRasEvidence(roster_, memory_, kNow, &hangs);
    return hangs[0];
  }

  Roster roster_{RosterLimits{}};
  RasMemory memory_;
};

Verdict NotEntered(int32_t rank) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kHangNotEntered);
  verdict.first_seen_ns = kNow - 10 * kSecond;
  verdict.culprits = {{.host = "h" + std::to_string(rank), .rank = rank}};
  return verdict;
}

TEST_F(RasTest, WhatRasSaysOfTheCulpritIsQuoted) {
  Record();
  Say({Claim(RasClaimKind::kBehind, 2)}, 1);
  const Verdict verdict = WithRas(NotEntered(2));
  ASSERT_EQ(verdict.evidence.size(), 1u);
  EXPECT_EQ(verdict.evidence[0].text(),
            "NCCL's RAS service, asked 0 us ago, says that rank 2 is behind: of its communicator's members, some have "
            "launched 17 AllReduce and 1 have launched less.");
}

TEST_F(RasTest, WhatItSaysInTwoCommunicatorsIsQuotedOnce) {
  Record();
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    CommunicatorView second{.id = kWorld + 1, .name = "second", .size = kRanks, .communicator_rank = rank};
    roster_.Join(roster_.SlotOfRank(rank), second);
  }
  RasClaim again = Claim(RasClaimKind::kUnresponsive, 2);
  again.communicator = kWorld + 1;
  Say({Claim(RasClaimKind::kUnresponsive, 2), again}, 2);
  EXPECT_EQ(WithRas(NotEntered(2)).evidence.size(), 1u);
}

TEST_F(RasTest, WhoRasNamesInsteadIsQuotedAsADisagreement) {
  Record();
  Say({Claim(RasClaimKind::kDead, 4)}, 3);
  const Verdict verdict = WithRas(NotEntered(2));
  ASSERT_EQ(verdict.evidence.size(), 1u);
  EXPECT_EQ(verdict.evidence[0].text(),
            "NCCL's RAS service, asked 0 us ago, says that rank 4 is dead, now for the 3rd time in a row. The records "
            "do not show that.");
  EXPECT_EQ(verdict.culprits.size(), 1u);
}

TEST_F(RasTest, LaunchesCountedBeforeTheHangAreNoEvidence) {
  Record();
  memory_.Observe("h0", {.asked_host_ns = 0, .communicators = 1, .claims = {Claim(RasClaimKind::kBehind, 2)}},
                  kNow - 20 * kSecond, 0);
  EXPECT_TRUE(WithRas(NotEntered(2)).evidence.empty());
}

TEST_F(RasTest, AnotherJobsCommunicatorIsNoEvidence) {
  Record();
  RasClaim foreign = Claim(RasClaimKind::kDead, 2);
  foreign.communicator = 8;
  Say({foreign}, 2);
  EXPECT_TRUE(WithRas(NotEntered(2)).evidence.empty());
  EXPECT_TRUE(JudgeByRas(roster_, memory_, kNow, true).verdicts.empty());
}

TEST_F(RasTest, OfSeveralCandidatesTheOneThatIsGoneRemains) {
  Record();
  Say({Claim(RasClaimKind::kUnresponsive, 3)}, 1);
  const Verdict verdict = WithRas(Hang(VerdictScope::kNetwork, VerdictClass::kHangInCommunication, {0, 1, 2, 3, 4, 5}));
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].rank, 3);
  EXPECT_EQ(verdict.scope, VerdictScope::kMachine);
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kHangInCommunication);
  EXPECT_TRUE(absl::StrContains(verdict.evidence[0].text(), "rank 3 does not answer"));
}

TEST_F(RasTest, ADifferenceInLaunchesNarrowsOnlyWhenItStays) {
  Record();
  const Verdict hang = Hang(VerdictScope::kNetwork, VerdictClass::kHangInCommunication, {0, 1, 2, 3});
  Say({Claim(RasClaimKind::kBehind, 3)}, 1);
  EXPECT_EQ(WithRas(hang).culprits.size(), 4u);
  Say({Claim(RasClaimKind::kBehind, 3)}, 1);
  EXPECT_EQ(WithRas(hang).culprits.size(), 1u);
}

TEST_F(RasTest, MostOfTheCandidatesAreNoNarrowing) {
  Record();
  Say({Claim(RasClaimKind::kError, 1), Claim(RasClaimKind::kError, 3)}, 2);
  const Verdict verdict = WithRas(Hang(VerdictScope::kNetwork, VerdictClass::kHangInCommunication, {1, 2, 3}));
  EXPECT_EQ(verdict.culprits.size(), 3u);
  EXPECT_EQ(verdict.scope, VerdictScope::kNetwork);
  EXPECT_EQ(verdict.evidence.size(), 2u);
}

TEST_F(RasTest, RasAloneNamesWhoIsGoneAfterTwoAnswersAndWithLittleConfidence) {
  Say({Claim(RasClaimKind::kDead, 4)}, 1);
  RasJudgement judgement = JudgeByRas(roster_, memory_, kNow, false);
  EXPECT_TRUE(judgement.verdicts.empty());
  EXPECT_TRUE(absl::StrContains(judgement.why_none, "only once"));
  Say({Claim(RasClaimKind::kDead, 4)}, 2);
  judgement = JudgeByRas(roster_, memory_, kNow, false);
  ASSERT_EQ(judgement.verdicts.size(), 1u);
  const Verdict& verdict = judgement.verdicts[0];
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kProcessDead);
  EXPECT_EQ(verdict.culprits[0].host, "10.0.0.4");
  EXPECT_EQ(verdict.culprits[0].rank, 4);
  EXPECT_EQ(verdict.culprits[0].pid, 904);
  EXPECT_LE(verdict.culprits[0].confidence, 0.5);
}

TEST_F(RasTest, RasAloneNamesWhoIsBehindOnlyWhenNothingHasMovedForLong) {
  Say({Claim(RasClaimKind::kBehind, 2)}, 2);  // 20 s
  RasJudgement judgement = JudgeByRas(roster_, memory_, kNow, false);
  EXPECT_TRUE(judgement.verdicts.empty());
  EXPECT_TRUE(absl::StrContains(judgement.why_none, "nothing shows that the job stands still"));
  memory_.Clear();
  Say({Claim(RasClaimKind::kBehind, 2)}, 3);  // 40 s
  judgement = JudgeByRas(roster_, memory_, kNow, false);
  ASSERT_EQ(judgement.verdicts.size(), 1u);
  EXPECT_EQ(judgement.verdicts[0].verdict_class, VerdictClass::kHangNotEntered);
  EXPECT_EQ(judgement.verdicts[0].first_seen_ns, kNow - 40 * kSecond);
}

TEST_F(RasTest, AJobThatRunsIsNotAccused) {
  RasClaim behind = Claim(RasClaimKind::kBehind, 2);
  for (int i = 5; i >= 0; --i, ++behind.highest, ++behind.lowest) {
    memory_.Observe("h0", {.asked_host_ns = 0, .communicators = 1, .claims = {behind}}, kNow - i * 15 * kSecond, 0);
    EXPECT_TRUE(JudgeByRas(roster_, memory_, kNow - i * 15 * kSecond, false).verdicts.empty());
  }
}

TEST_F(RasTest, WhereRecordsShowTheStandstillTwoAnswersAreEnoughAndTheRankIsTheJobs) {
  Record();
  Say({Claim(RasClaimKind::kUnresponsive, 5)}, 2);
  const RasJudgement judgement = JudgeByRas(roster_, memory_, kNow, true);
  ASSERT_EQ(judgement.verdicts.size(), 1u);
  EXPECT_EQ(judgement.verdicts[0].culprits[0].host, "h5");
  EXPECT_EQ(judgement.verdicts[0].culprits[0].pid, 15);
}

TEST_F(RasTest, WhatCannotBeToldApartIsNotNamedAndTheReasonIsSaid) {
  RasClaim elsewhere = Claim(RasClaimKind::kBehind, 1);
  elsewhere.communicator = 8;
  RasClaim early = Claim(RasClaimKind::kBehind, 2);
  early.highest = 1;
  early.lowest = 0;
  struct {
    std::vector<RasClaim> claims;
    uint32_t left_out;
    const char* reason;
  } const cases[] = {
      {{Claim(RasClaimKind::kBehind, 2), elsewhere}, 0, "does not tell which waits for which"},
      {{Claim(RasClaimKind::kBehind, 2), Claim(RasClaimKind::kBehind, 3)}, 0, "too many to name one"},
      {{Claim(RasClaimKind::kDead, 0), Claim(RasClaimKind::kDead, 1), Claim(RasClaimKind::kDead, 2),
        Claim(RasClaimKind::kDead, 3)},
       0,
       "misses most of the job"},
      {{early}, 0, "in the first operations"},
      {{Claim(RasClaimKind::kDead, 0)}, 1, "names more ranks than an answer holds"},
  };
  for (const auto& [claims, left_out, reason] : cases) {
    memory_.Clear();
    Say(claims, 3, left_out);
    const RasJudgement judgement = JudgeByRas(roster_, memory_, kNow, true);
    EXPECT_TRUE(judgement.verdicts.empty()) << reason;
    EXPECT_TRUE(absl::StrContains(judgement.why_none, reason)) << judgement.why_none;
  }
}

}  // namespace
}  // namespace lockstep
