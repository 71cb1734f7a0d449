#include "detector/engine/same_onset.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

Verdict Slow(const std::string& host, int64_t first_step, double seconds) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits = {{.host = host}};
  verdict.first_step = first_step;
  verdict.cost.seconds_per_step = seconds;
  return verdict;
}

std::vector<std::string> Left(std::vector<Verdict> verdicts) {
  DropEchoesOfDearer(&verdicts);
  std::vector<std::string> hosts;
  for (const Verdict& verdict : verdicts) hosts.push_back(verdict.culprits.front().host);
  return hosts;
}

using Hosts = std::vector<std::string>;

TEST(SameOnsetTest, WhatBeganWithSomethingFarDearerIsItsEcho) {
  EXPECT_EQ(Left({Slow("a", 12, 1.6), Slow("b", 12, 0.2)}), Hosts{"a"});
  EXPECT_EQ(Left({Slow("b", 11, 0.2), Slow("a", 12, 1.6)}), Hosts{"a"}) << "in any order, known to a step";
}

TEST(SameOnsetTest, OtherOnsetsAndEqualCostsAreFaultsOfTheirOwn) {
  EXPECT_EQ(Left({Slow("a", 12, 1.6), Slow("b", 16, 0.2)}), (Hosts{"a", "b"}));
  EXPECT_EQ(Left({Slow("a", 12, 1.6), Slow("b", 12, 0.8)}), (Hosts{"a", "b"}));
  EXPECT_EQ(Left({Slow("a", 0, 1.6), Slow("b", 0, 0.2)}), (Hosts{"a", "b"})) << "nobody saw them begin";
}

TEST(SameOnsetTest, OneHostAndAnEventAreKept) {
  EXPECT_EQ(Left({Slow("a", 12, 1.6), Slow("a", 12, 0.2)}), (Hosts{"a", "a"}));
  EXPECT_EQ(Left({Slow("a", 12, 1.6), Slow("b", 12, 0.2), Slow("c", 12, 0.3)}), (Hosts{"a", "b", "c"}));
}

TEST(SameOnsetTest, WhatAccusesNobodyIsNoneOfThem) {
  Verdict structural = Verdict::Accusation(VerdictScope::kStructural, VerdictClass::kStageImbalance);
  structural.first_step = 12;
  structural.cost.seconds_per_step = 3;
  std::vector<Verdict> verdicts = {structural, Slow("b", 12, 0.2)};
  DropEchoesOfDearer(&verdicts);
  EXPECT_EQ(verdicts.size(), 2u);
}

}  // namespace
}  // namespace lockstep
