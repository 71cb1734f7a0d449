#include "detector/counters/group_member.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr CounterSpan kSpan = {.begin_ms = 0, .end_ms = 900'000};

std::vector<Verdict> Group(int64_t onset_ms) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kNetwork, VerdictClass::kGroupSlow);
  verdict.first_seen_ns = onset_ms * 1'000'000;
  for (int rank = 0; rank < 8; ++rank) {
    verdict.culprits.push_back({.host = "h" + std::to_string(rank / 2), .rank = rank, .gpu = rank % 2});
  }
  return {verdict};
}

MemberSign Sign(const std::string& host, int64_t onset_ms) {
  return {.host = host, .device = "mlx5_1/1", .verdict_class = VerdictClass::kCommSlowTx, .onset_ms = onset_ms};
}

TEST(GroupMemberTest, TheOnlyOneWithSignsIsNamed) {
  std::vector<Verdict> verdicts = Group(300'000);
  NarrowGroups({Sign("h2", 310'000), Sign("h2", 312'000), Sign("elsewhere", 300'000)}, kSpan, &verdicts);
  ASSERT_EQ(verdicts[0].culprits.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits[0].host, "h2");
  EXPECT_EQ(verdicts[0].culprits[0].device, "mlx5_1/1");
  EXPECT_EQ(verdicts[0].culprits[0].rank, -1);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCommSlowTx);
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kNetwork);
  EXPECT_EQ(verdicts[0].evidence.back().text(),
            "Of the 4 hosts of this group only h2 has network counters that stand out.");
}

TEST(GroupMemberTest, TwoWithSignsCannotBeToldApart) {
  std::vector<Verdict> verdicts = Group(300'000);
  NarrowGroups({Sign("h2", 310'000), Sign("h3", 310'000)}, kSpan, &verdicts);
  EXPECT_EQ(verdicts, Group(300'000));
}

TEST(GroupMemberTest, SignsOfAnotherTimeAreOfAnotherThing) {
  std::vector<Verdict> verdicts = Group(300'000);
  NarrowGroups({Sign("h2", 100'000)}, kSpan, &verdicts);
  EXPECT_EQ(verdicts, Group(300'000));
}

TEST(GroupMemberTest, TimesOfDifferentClocksAreNotCompared) {
  std::vector<Verdict> verdicts = Group(1'700'000'000'000);
  NarrowGroups({Sign("h2", 100'000)}, kSpan, &verdicts);
  EXPECT_EQ(verdicts[0].culprits.size(), 1u);
}

TEST(GroupMemberTest, OfAGroupThatListsNobodyEachMachineIsAMember) {
  std::vector<Verdict> verdicts = Group(300'000);
  verdicts[0].culprits.clear();
  const std::vector<Verdict> nobody = verdicts;
  NarrowGroups({Sign("h2", 310'000), Sign("h3", 310'000)}, kSpan, &verdicts);
  EXPECT_EQ(verdicts, nobody);
  NarrowGroups({Sign("h2", 310'000)}, kSpan, &verdicts);
  ASSERT_EQ(verdicts[0].culprits.size(), 1u);
  EXPECT_EQ(verdicts[0].culprits[0].host, "h2");
  EXPECT_EQ(verdicts[0].evidence.back().text(), "Of all hosts only h2 has network counters that stand out.");
}

TEST(GroupMemberTest, WithoutOneClockBothAreThereFromTheStartOrNeither) {
  const auto narrowed = [](int64_t first_step, int64_t sign_ms) {
    std::vector<Verdict> verdicts = Group(1'700'000'000'000);
    verdicts[0].first_step = first_step;
    NarrowGroups({Sign("h2", sign_ms)}, kSpan, &verdicts);
    return verdicts[0].culprits.size() == 1;
  };
  EXPECT_TRUE(narrowed(0, 10'000));
  EXPECT_FALSE(narrowed(0, 300'000));
  EXPECT_TRUE(narrowed(20, 300'000));
  EXPECT_FALSE(narrowed(20, 0));
}

TEST(GroupMemberTest, MachinesAndLinksThatAreKnownStayAsTheyAre) {
  std::vector<Verdict> verdicts = Group(300'000);
  verdicts[0].culprits.resize(2);  // one host
  const std::vector<Verdict> one_host = verdicts;
  NarrowGroups({Sign("h0", 300'000)}, kSpan, &verdicts);
  EXPECT_EQ(verdicts, one_host);
  verdicts = Group(300'000);
  verdicts[0].scope = VerdictScope::kMachine;
  const std::vector<Verdict> machines = verdicts;
  NarrowGroups({Sign("h0", 300'000)}, kSpan, &verdicts);
  EXPECT_EQ(verdicts, machines);
}

TEST(GroupMemberTest, WhoWasToldStaysToldWhileTheGroupIsBlamed) {
  NarrowedGroups groups;
  std::vector<Verdict> verdicts = Group(300'000);
  groups.Apply({Sign("h2", 310'000)}, kSpan, &verdicts);
  const std::vector<Culprit> told = verdicts[0].culprits;
  EXPECT_EQ(told.size(), 1u);
  verdicts = Group(300'000);
  groups.Apply({}, kSpan, &verdicts);
  EXPECT_EQ(verdicts[0].culprits, told);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kCommSlowTx);
  verdicts.clear();
  groups.Apply({}, kSpan, &verdicts);
  verdicts = Group(300'000);
  groups.Apply({}, kSpan, &verdicts);
  EXPECT_EQ(verdicts, Group(300'000)) << "another time";
}

// Either end of a link may be why it is slow.
TEST(GroupMemberTest, TheEndOfALinkWithSignsIsNamed) {
  Verdict link = Verdict::Accusation(VerdictScope::kNetwork, VerdictClass::kLinkSlow);
  link.culprits = {{.host = "a", .peer_host = "b"}};
  link.first_seen_ns = 300'000'000'000;
  std::vector<Verdict> verdicts = {link};
  NarrowGroups({Sign("b", 300'000)}, kSpan, &verdicts);
  EXPECT_EQ(verdicts[0].culprits[0].host, "b");
  EXPECT_EQ(verdicts[0].culprits[0].peer_host, "");
}

}  // namespace
}  // namespace lockstep
