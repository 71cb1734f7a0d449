#include "detector/engine/stalled_group.h"

#include <string>
#include <vector>

#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

Verdict Of(VerdictClass verdict_class, const std::vector<std::string>& hosts, int64_t first_step, int64_t last_step) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kNetwork, verdict_class);
  for (const std::string& host : hosts) verdict.culprits.push_back({.host = host});
  verdict.first_step = first_step;
  verdict.last_step = last_step;
  verdict.cost = {.slowdown_fraction = 0.1, .seconds_per_step = 0.2, .steps_affected_fraction = 0.3};
  verdict.evidence.push_back({EvidenceKind::kProgress, NothingFinishedSince{}});
  return verdict;
}

TEST(StalledGroupTest, AGroupOfTheStalledAdapterIsSlowByIt) {
  Verdict stall = Of(VerdictClass::kCommSlowTx, {"b"}, 11, 16);
  std::vector<Verdict> verdicts = {Of(VerdictClass::kGroupSlow, {"a", "b", "c"}, 9, 12)};
  const std::vector<Verdict> joined = JoinStalledGroups(&stall, &verdicts);
  EXPECT_TRUE(verdicts.empty());
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(stall.first_step, 9);
  EXPECT_EQ(stall.last_step, 16);
  EXPECT_DOUBLE_EQ(stall.cost.slowdown_fraction, 0.2);
  EXPECT_DOUBLE_EQ(stall.cost.seconds_per_step, 0.4);
  EXPECT_EQ(stall.evidence.size(), 2u);
}

TEST(StalledGroupTest, WhatHasNothingToDoWithItStays) {
  const Verdict stall = Of(VerdictClass::kCommSlowTx, {"b"}, 11, 16);
  Verdict between = stall;  // of a link nobody knows which end
  between.culprits.front().peer_host = "c";
  Verdict nobody = stall;
  nobody.culprits.clear();
  const Verdict group = Of(VerdictClass::kGroupSlow, {"a", "b", "c"}, 9, 12);
  Verdict of_the_link = group;
  of_the_link.verdict_class = VerdictClass::kLinkSlow;
  const struct {
    Verdict stall, verdict;
    const char* why;
  } kApart[] = {
      {stall, Of(VerdictClass::kGroupSlow, {"a", "c"}, 9, 12), "the adapter is not in it"},
      {stall, Of(VerdictClass::kGroupSlow, {"a", "b"}, 1, 10), "in other steps"},
      {stall, Of(VerdictClass::kGroupSlow, {"b"}, 9, 12), "inside of the host"},
      {stall, of_the_link, "no group"},
      {between, group, "the stall is of a link"},
      {nobody, group, "the stall accuses nobody"},
  };
  for (const auto& apart : kApart) {
    Verdict kept = apart.stall;
    std::vector<Verdict> verdicts = {apart.verdict};
    EXPECT_TRUE(JoinStalledGroups(&kept, &verdicts).empty()) << apart.why;
    EXPECT_EQ(verdicts.size(), 1u) << apart.why;
    EXPECT_EQ(kept.evidence.size(), 1u) << apart.why;
  }
}

}  // namespace
}  // namespace lockstep
