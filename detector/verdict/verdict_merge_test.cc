#include "detector/verdict/verdict_merge.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

Verdict Of(VerdictScope scope, const std::vector<std::string>& hosts, const std::string& why) {
  Verdict verdict = scope == VerdictScope::kUnknown ? Verdict::Observation(VerdictClass::kCounterOutlier)
                                                    : Verdict::Accusation(scope, VerdictClass::kCounterOutlier);
  for (const std::string& host : hosts) verdict.culprits.push_back({.host = host});
  verdict.evidence = {{EvidenceKind::kCounter, InputNote{why}}};
  return verdict;
}

TEST(VerdictMergeTest, AnObservationDoesNotKeepTheBlameAway) {
  std::vector<Verdict> verdicts = {Of(VerdictScope::kUnknown, {"a"}, "clock"),
                                   Of(VerdictScope::kUnknown, {"b"}, "load")};
  MergeVerdicts({Of(VerdictScope::kMachine, {"a"}, "slow")}, &verdicts);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].culprits[0].host, "b");
  EXPECT_EQ(verdicts[1].scope, VerdictScope::kMachine);
  ASSERT_EQ(verdicts[1].evidence.size(), 2u);
  EXPECT_EQ(verdicts[1].evidence[0].text(), "slow");
  EXPECT_EQ(verdicts[1].evidence[1].text(), "clock");
}

TEST(VerdictMergeTest, WhoIsBlamedAlreadyIsNotBlamedTwice) {
  const std::vector<Verdict> before = {Of(VerdictScope::kMachine, {"a"}, "dead")};
  std::vector<Verdict> verdicts = before;
  MergeVerdicts({Of(VerdictScope::kMachine, {"a"}, "slow"), Of(VerdictScope::kNetwork, {"a", "b"}, "link")}, &verdicts);
  EXPECT_EQ(verdicts, before);
}

TEST(VerdictMergeTest, SeveralFindingsOfOneLookStandBesideEachOther) {
  std::vector<Verdict> verdicts;
  MergeVerdicts({Of(VerdictScope::kMachine, {"a"}, "slow"), Of(VerdictScope::kNetwork, {"a", "b"}, "link")}, &verdicts);
  EXPECT_EQ(verdicts.size(), 2u);
}

TEST(VerdictMergeTest, AnObservationOfAMachineThatIsKnownIsNotNew) {
  const std::vector<Verdict> before = {Of(VerdictScope::kUnknown, {"a"}, "clock")};
  std::vector<Verdict> verdicts = before;
  MergeVerdicts({Of(VerdictScope::kUnknown, {"a"}, "cheap")}, &verdicts);
  EXPECT_EQ(verdicts, before);
}

TEST(VerdictMergeTest, AnObservationOfAMachineThatIsBlamedIsEvidence) {
  std::vector<Verdict> verdicts = {Of(VerdictScope::kMachine, {"a"}, "slow")};
  MergeVerdicts({Of(VerdictScope::kUnknown, {"a"}, "clock")}, &verdicts);
  ASSERT_EQ(verdicts.size(), 1u);
  ASSERT_EQ(verdicts[0].evidence.size(), 2u);
  EXPECT_EQ(verdicts[0].evidence[1].text(), "clock");
}

TEST(VerdictMergeTest, WhatBlamesNobodyTakesNoObservations) {
  std::vector<Verdict> verdicts = {Of(VerdictScope::kUnknown, {"a"}, "clock")};
  MergeVerdicts({Of(VerdictScope::kStructural, {}, "imbalance")}, &verdicts);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[1].evidence.size(), 1u);
}

TEST(VerdictMergeTest, AHostHasOneCauseAndTheOneThatStandsStays) {
  const Verdict slow = Of(VerdictScope::kMachine, {"a"}, "slow");
  const Verdict xid = Of(VerdictScope::kMachine, {"a"}, "xid");
  const Verdict other = Of(VerdictScope::kMachine, {"b"}, "ecc");
  const auto stands = [](const std::string& why) {
    return [why](const Verdict& verdict) { return verdict.evidence[0].text() == why; };
  };
  std::vector<Verdict> verdicts = {slow};
  MergeFindings({xid, other}, stands("slow"), &verdicts);
  EXPECT_EQ(verdicts, (std::vector<Verdict>{slow, other}));
  verdicts = {slow};
  MergeFindings({xid}, stands("none"), &verdicts);
  EXPECT_EQ(verdicts, std::vector<Verdict>{slow});
  // The slowness that comes after the error is evidence of the error.
  MergeFindings({xid}, stands("xid"), &verdicts);
  ASSERT_EQ(verdicts.size(), 1u);
  ASSERT_EQ(verdicts[0].evidence.size(), 2u);
  EXPECT_EQ(verdicts[0].evidence[0].text(), "xid");
  EXPECT_EQ(verdicts[0].evidence[1].text(), "slow");
}

TEST(VerdictMergeTest, WhatAHostOnlyObservesHidesNothingThatIsBroken) {
  const Verdict xid = Of(VerdictScope::kMachine, {"a"}, "xid");
  const Verdict clock = Of(VerdictScope::kUnknown, {"a"}, "clock");
  std::vector<Verdict> verdicts;
  MergeFindings(
      {xid, clock}, [](const Verdict& verdict) { return verdict.evidence[0].text() == "clock"; }, &verdicts);
  EXPECT_EQ(verdicts, std::vector<Verdict>{xid});
}

TEST(VerdictMergeTest, AHangIsOfTheBrokenGpuUnlessTheRankIsOnAnotherOne) {
  Verdict broken = Of(VerdictScope::kMachine, {"a"}, "Xid 79");
  broken.verdict_class = VerdictClass::kGpuFault;
  Verdict hang = Of(VerdictScope::kMachine, {"a"}, "hang");
  hang.verdict_class = VerdictClass::kHangNotEntered;
  hang.culprits[0].rank = 5;
  for (const int32_t gpu : {-1, 3, 4}) {
    broken.culprits[0].gpu = 3;
    hang.culprits[0].gpu = gpu;
    std::vector<Verdict> verdicts = {hang};
    MergeFindings(
        {broken}, [](const Verdict&) { return false; }, &verdicts);
    ASSERT_EQ(verdicts.size(), 1u);
    EXPECT_EQ(verdicts[0].verdict_class, gpu == 4 ? VerdictClass::kHangNotEntered : VerdictClass::kGpuFault) << gpu;
  }
}

}  // namespace
}  // namespace lockstep
