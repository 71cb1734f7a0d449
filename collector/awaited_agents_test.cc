#include "collector/awaited_agents.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr int64_t kResumed = 1'000 * kNanosPerSecond;

Verdict Unreachable(const std::vector<std::string>& hosts) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kMachineUnreachable);
  for (const std::string& host : hosts) verdict.culprits.push_back({.host = host});
  return verdict;
}

size_t Left(const Verdict& verdict, int64_t resumed_ns, int64_t now_ns) {
  const std::map<std::string, SeenSpan> seen = {{"before", {0, kResumed - 1}}, {"since", {0, kResumed + 1}}};
  return WithoutAwaited({verdict}, seen, resumed_ns, now_ns).size();
}

TEST(AwaitedAgentsTest, WhoWasNotSeenSinceTheRestartIsAwaitedForAWhile) {
  const int64_t soon = kResumed + kComeBackNanos;
  EXPECT_EQ(Left(Unreachable({"before"}), kResumed, soon), 0U);
  EXPECT_EQ(Left(Unreachable({"never"}), kResumed, soon), 0U);
  EXPECT_EQ(Left(Unreachable({"before"}), kResumed, soon + 1), 1U);
  EXPECT_EQ(Left(Unreachable({"before"}), 0, soon), 1U) << "there was no restart";
}

TEST(AwaitedAgentsTest, WhoCameBackAndWhatElseIsWrongIsTold) {
  EXPECT_EQ(Left(Unreachable({"since"}), kResumed, kResumed + 2), 1U);
  EXPECT_EQ(Left(Unreachable({"before", "since"}), kResumed, kResumed + 2), 1U);
  Verdict slow = Unreachable({"before"});
  slow.verdict_class = VerdictClass::kComputeSlow;
  EXPECT_EQ(Left(slow, kResumed, kResumed + 2), 1U);
}

}  // namespace
}  // namespace lockstep
