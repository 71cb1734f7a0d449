#include "detector/hardware/event_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "detector/hardware/xid_catalog.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = kNanosPerSecond;

KernelEvent Xid(int64_t code, const std::string& device = "0000:3b:00") {
  KernelEvent event;
  event.kind = KernelEventKind::kXid;
  event.code = code;
  event.device = device;
  return event;
}

MetricSample Sample(Metric metric, double value, const std::string& device = "mlx5_0/1") {
  return {device, metric, 0, value};
}

TEST(XidCatalogTest, IsSortedAndOnlyBrokenHardwareIsHard) {
  int16_t before = 0;
  for (const XidInfo& xid : XidCatalog()) {
    EXPECT_LT(before, xid.code);
    EXPECT_EQ(FindXid(xid.code), &xid);
    before = xid.code;
  }
  EXPECT_TRUE(IsHard(FindXid(79)->action));
  EXPECT_TRUE(IsHard(FindXid(95)->action));
  for (int64_t soft : {13, 31, 43, 45, 48, 63, 94}) EXPECT_FALSE(IsHard(FindXid(soft)->action)) << soft;
  EXPECT_EQ(FindXid(1), nullptr);
  EXPECT_EQ(FindXid(1'000'000), nullptr);
}

TEST(EventJudgeTest, AnXidAccusesOnlyIfItsRowSaysSo) {
  EventJudge judge;
  judge.Observe("node-1", Xid(79), 10 * kSecond, 10 * kSecond);
  judge.Observe("node-2", Xid(31), 10 * kSecond, 10 * kSecond);
  judge.Observe("node-3", Xid(9999), 10 * kSecond, 10 * kSecond);
  judge.Observe("node-4", Xid(63), 10 * kSecond, 10 * kSecond);  // informational: evidence at most
  const auto verdicts = FindingVerdicts(judge.Findings(20 * kSecond), 20 * kSecond);
  ASSERT_THAT(verdicts, SizeIs(3));
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kMachine);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kGpuFault);
  EXPECT_EQ(verdicts[0].culprits.at(0).host, "node-1");
  EXPECT_EQ(verdicts[0].culprits.at(0).device, "0000:3b:00");
  EXPECT_EQ(verdicts[0].advice, Advice::kCordonAndReplace);
  EXPECT_THAT(verdicts[0].evidence.at(0).text(), HasSubstr("Xid 79 (GPU has fallen off the bus; restart the machine)"));
  for (size_t i : {1u, 2u}) {
    EXPECT_EQ(verdicts[i].scope, VerdictScope::kUnknown);
    EXPECT_EQ(verdicts[i].advice, Advice::kObserve);
  }
}

TEST(EventJudgeTest, AGpuThatNvmlCallsLostIsBrokenLikeOneOfXid79) {
  EventJudge judge;
  KernelEvent lost = Xid(kNvmlGpuIsLost);
  lost.kind = KernelEventKind::kNvml;
  judge.Observe("node-1", lost, 10 * kSecond, 10 * kSecond);
  lost.code = 999;
  judge.Observe("node-2", lost, 10 * kSecond, 10 * kSecond);
  const auto verdicts = FindingVerdicts(judge.Findings(20 * kSecond), 20 * kSecond);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kMachine);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kGpuFault);
  EXPECT_EQ(verdicts[0].culprits.at(0).host, "node-1");
  EXPECT_EQ(verdicts[0].culprits.at(0).device, "0000:3b:00");
  EXPECT_EQ(verdicts[0].advice, Advice::kCordonAndReplace);
  EXPECT_THAT(verdicts[0].evidence.at(0).text(), HasSubstr("NVML says that the GPU is lost"));
}

TEST(EventJudgeTest, AFabricThatAGpuCannotJoinIsItsFaultAndADegradedOneIsSeen) {
  EventJudge judge;
  const auto observe = [&judge](const char* host, Metric metric, double value) {
    judge.Observe(host, MetricSample{.device = "gpu3", .metric = metric, .value = value}, 10 * kSecond);
  };
  observe("node-1", Metric::kGpuFabricFailure, 1);
  observe("node-2", Metric::kGpuFabricDegraded, 1);
  observe("node-3", Metric::kGpuFabricFailure, 0);
  observe("node-3", Metric::kGpuFabricDegraded, 0);
  const auto verdicts = FindingVerdicts(judge.Findings(20 * kSecond), 20 * kSecond);
  ASSERT_THAT(verdicts, SizeIs(2));
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kMachine);
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kGpuFault);
  EXPECT_EQ(verdicts[0].culprits.at(0).gpu, 3);
  EXPECT_THAT(verdicts[0].evidence.at(0).text(), HasSubstr("could not join the NVLink fabric"));
  EXPECT_EQ(verdicts[1].scope, VerdictScope::kUnknown);
  EXPECT_EQ(verdicts[1].verdict_class, VerdictClass::kNvlinkSlow);
}

TEST(EventJudgeTest, AFabricThatStaysInProgressIsSeenAndOneThatBootsIsNot) {
  EventJudge judge;
  constexpr int kInProgress = 2;
  constexpr int kCompleted = 3;
  const auto observe = [&judge](const char* host, int state, int second) {
    const auto value = static_cast<double>(state);
    judge.Observe(host, MetricSample{.device = "gpu3", .metric = Metric::kGpuFabricState, .value = value},
                  second * kSecond);
  };
  for (int second = 0; second <= 800; second += 10) {
    observe("stuck", kInProgress, second);
    observe("boots", second < 590 ? kInProgress : kCompleted, second);
    observe("boots twice", second < 400 || second > 410 ? kInProgress : kCompleted, second);
    observe("not begun", 1, second);
    EXPECT_EQ(judge.Findings(second * kSecond).empty(), second < 600) << second;
  }
  const auto verdicts = FindingVerdicts(judge.Findings(800 * kSecond), 800 * kSecond);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kUnknown) << "an observation";
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kNvlinkSlow);
  EXPECT_EQ(verdicts[0].culprits.at(0).host, "stuck");
  EXPECT_EQ(verdicts[0].culprits.at(0).gpu, 3);
  EXPECT_EQ(verdicts[0].first_seen_ns, 0);
  EXPECT_THAT(verdicts[0].evidence.at(0).text(), HasSubstr("has waited for its NVLink fabric for minutes"));
}

TEST(EventJudgeTest, WhatNvlinkFiveCountsIsAnObservationAboveWhatIsNormal) {
  constexpr struct {
    Metric metric;
    double normal;  // in a minute
    const char* says;
  } kCases[] = {
      {Metric::kGpuNvlinkReceiveErrorsTotal, 100, "received broken packets over an NVLink"},
      {Metric::kGpuNvlinkMalformedPacketsTotal, 100, "received malformed packets over an NVLink"},
      {Metric::kGpuNvlinkBufferOverrunsTotal, 0, "had buffer overruns of an NVLink"},
      {Metric::kGpuNvlinkIntegrityErrorsTotal, 0, "had integrity errors of an NVLink"},
      {Metric::kGpuNvlinkTransmitDiscardsTotal, 1000, "discarded packets that it should send over an NVLink"},
      {Metric::kGpuNvlinkRecoveryFailuresTotal, 0, "lost an NVLink"},
  };
  for (const auto& row : kCases) {
    EventJudge judge;
    judge.Observe("normal", Sample(row.metric, 7, "gpu3"), 0);
    judge.Observe("broken", Sample(row.metric, 7, "gpu3"), 0);
    judge.Observe("normal", Sample(row.metric, 7 + row.normal, "gpu3"), 10 * kSecond);
    judge.Observe("broken", Sample(row.metric, 8 + row.normal, "gpu3"), 10 * kSecond);
    const auto verdicts = FindingVerdicts(judge.Findings(10 * kSecond), 10 * kSecond);
    ASSERT_THAT(verdicts, SizeIs(1)) << row.says;
    EXPECT_EQ(verdicts[0].scope, VerdictScope::kUnknown) << "an observation";
    EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kNvlinkSlow);
    EXPECT_EQ(verdicts[0].culprits.at(0).host, "broken");
    EXPECT_EQ(verdicts[0].culprits.at(0).gpu, 3);
    EXPECT_THAT(verdicts[0].evidence.at(0).text(), HasSubstr(row.says));
  }
}

TEST(EventJudgeTest, SecondsOfViolationsWithinAMinuteAreSeen) {
  EventJudge judge;
  for (int second = 0; second <= 60; second += 10) {
    const auto observe = [&](const char* host, Metric metric, double value) {
      judge.Observe(host, MetricSample{.device = "gpu0", .metric = metric, .value = value}, second * kSecond);
    };
    observe("hot", Metric::kGpuThermalViolationSecondsTotal, 100 + second * 0.2);
    observe("warm", Metric::kGpuThermalViolationSecondsTotal, 100 + second * 0.05);
    observe("busy", Metric::kGpuPowerViolationSecondsTotal, second);
  }
  const auto verdicts = FindingVerdicts(judge.Findings(60 * kSecond), 60 * kSecond);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].culprits.at(0).host, "hot");
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kClockThrottled);
}

TEST(EventJudgeTest, ASourceThatFailsForLongIsAnObservationIfItHangsOrWorkedBefore) {
  EventJudge judge;
  constexpr int64_t kLong = EventJudge::kSourceFailsNs;
  judge.Observe("node-1", SourceFailure{"nvml", /*hangs=*/true, /*worked=*/false, kLong, {}}, 100 * kSecond);
  judge.Observe("node-2", SourceFailure{"infiniband", /*hangs=*/false, /*worked=*/true, kLong, {}}, 100 * kSecond);
  judge.Observe("node-3", SourceFailure{"kernel_log", /*hangs=*/false, /*worked=*/false, kLong, {}}, 100 * kSecond);
  judge.Observe("node-4", SourceFailure{"nvml", /*hangs=*/true, /*worked=*/true, kLong - 1, {}}, 100 * kSecond);
  const auto findings = judge.Findings(100 * kSecond);
  EXPECT_THAT(findings, SizeIs(3));
  const auto verdicts = FindingVerdicts(findings, 100 * kSecond);
  ASSERT_THAT(verdicts, SizeIs(2));
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kGpuFault);
  EXPECT_EQ(verdicts[0].first_seen_ns, 70 * kSecond);
  EXPECT_EQ(verdicts[1].verdict_class, VerdictClass::kLinkSlow);
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.scope, VerdictScope::kUnknown);
    EXPECT_EQ(verdict.advice, Advice::kObserve);
  }
  EXPECT_THAT(verdicts[0].evidence.at(0).text(), HasSubstr("Host node-1: the agent gets nothing from nvml"));
}

TEST(EventJudgeTest, APartThatIsGoneIsAFindingOfThatPart) {
  EventJudge judge;
  const SourceFailure failure{.source = "infiniband",
                              .worked = true,
                              .failing_ns = EventJudge::kSourceFailsNs,
                              .missing = {"mlx5_3/1", "mlx5_7/1"}};
  judge.Observe("node-3", failure, 100 * kSecond);
  const auto verdicts = FindingVerdicts(judge.Findings(100 * kSecond), 100 * kSecond);
  ASSERT_THAT(verdicts, SizeIs(2));
  EXPECT_EQ(verdicts[0].verdict_class, VerdictClass::kLinkSlow);
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kUnknown) << "somebody may have taken it out";
  EXPECT_EQ(verdicts[0].culprits.at(0).device, "mlx5_3/1");
  EXPECT_EQ(verdicts[1].culprits.at(0).device, "mlx5_7/1");
  EXPECT_THAT(verdicts[0].evidence.at(0).text(), HasSubstr("mlx5_3/1"));
  EXPECT_THAT(verdicts[0].evidence.at(0).text(), HasSubstr("it is gone, and worked before in this boot"));
}

TEST(EventJudgeTest, AFailingSourceIsEvidenceForWhatElseIsFoundOnItsHost) {
  EventJudge judge;
  const SourceFailure failure{"kernel_log", /*hangs=*/false, /*worked=*/false, EventJudge::kSourceFailsNs, {}};
  judge.Observe("node-3", failure, 100 * kSecond);
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits = {{.host = "node-3"}};
  AddCounterFindings(judge.Findings(100 * kSecond), 100 * kSecond, verdict);
  ASSERT_THAT(verdict.evidence, SizeIs(1));
  EXPECT_THAT(verdict.evidence[0].text(), HasSubstr("the agent gets nothing from kernel_log"));
}

TEST(EventJudgeTest, WhatIsHeardOfLateHoldsFromThenOnAndKeepsItsTime) {
  EventJudge judge;
  judge.Observe("node-1", Xid(79), 100 * kSecond, 5000 * kSecond);
  const auto findings = judge.Findings(5000 * kSecond);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].first_ns, 100 * kSecond);
  EXPECT_EQ(findings[0].last_ns, 100 * kSecond);
  EXPECT_THAT(judge.Findings(5000 * kSecond + EventJudge::kStickyNs), SizeIs(1));
  EXPECT_THAT(judge.Findings(5001 * kSecond + EventJudge::kStickyNs), IsEmpty());
}

TEST(EventJudgeTest, AStormAfterACrashIsOneFindingOfTheJob) {
  EventJudge judge;
  uint64_t lines = 0;
  for (int node = 0; node < 77; ++node) {
    for (int line = 0; line < 2194; ++line, ++lines) {
      judge.Observe(absl::StrCat("node-", node), Xid(45, absl::StrCat("gpu", line % 8)), (10 + node % 7) * kSecond,
                    (10 + node % 7) * kSecond);
    }
  }
  const auto findings = judge.Findings(30 * kSecond);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].hosts, 77);
  EXPECT_EQ(findings[0].count, lines);
  const auto verdicts = FindingVerdicts(findings, 30 * kSecond);
  EXPECT_EQ(verdicts[0].scope, VerdictScope::kJob);
  EXPECT_THAT(verdicts[0].culprits, IsEmpty());
}

TEST(EventJudgeTest, TheSameXidOnMachinesAtDifferentTimesIsNoStorm) {
  EventJudge judge;
  for (int node = 0; node < 5; ++node)
    judge.Observe(absl::StrCat("node-", node), Xid(31), node * 100 * kSecond, node * 100 * kSecond);
  EXPECT_THAT(judge.Findings(500 * kSecond), SizeIs(5));
}

TEST(EventJudgeTest, BrokenHardwareIsNeverFoldedAway) {
  EventJudge judge;
  for (int node = 0; node < 5; ++node) judge.Observe(absl::StrCat("node-", node), Xid(79), 10 * kSecond, 10 * kSecond);
  EXPECT_THAT(judge.Findings(20 * kSecond), SizeIs(5));
}

TEST(EventJudgeTest, AFlapBetweenTwoLooksIsSeenAndStaysForAWhile) {
  EventJudge judge;
  judge.Observe("node-1", Sample(Metric::kIbLinkDownedTotal, 7), 0);
  judge.Observe("node-1", Sample(Metric::kIbLinkUp, 1), kSecond);
  judge.Observe("node-1", Sample(Metric::kIbLinkDownedTotal, 8), kSecond);  // it is up again by now
  judge.Observe("node-1", Sample(Metric::kIbLinkDownedTotal, 8), 100 * kSecond);
  const auto findings = judge.Findings(100 * kSecond);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_TRUE(findings[0].hard);
  EXPECT_EQ(findings[0].count, 1u);
  EXPECT_EQ(FindingVerdicts(findings, 100 * kSecond)[0].scope, VerdictScope::kNetwork);
  EXPECT_THAT(judge.Findings(kSecond + EventJudge::kStickyNs + 1), IsEmpty());
}

TEST(EventJudgeTest, BlankValuesAreNoGrowth) {
  EventJudge judge;
  const double blanks[] = {9223372036854775792.0, 2147483632.0, 140737488355328.0, std::nan(""), HUGE_VAL};
  int64_t now_ns = kSecond;
  for (const double blank : blanks) {
    for (const double value : {5.0, blank, 5.0}) {
      for (const CounterRule& rule : CounterRules()) {
        judge.Observe("node-1", Sample(rule.metric, value == blank || std::isnan(value) ? value : 0), now_ns);
      }
      for (const CeilingRule& rule : CeilingRules()) judge.Observe("node-1", Sample(rule.metric, value), now_ns);
      now_ns += 15 * kSecond;
    }
  }
  EXPECT_TRUE(judge.Findings(now_ns).empty());
}

TEST(EventJudgeTest, AResetOrRestartedCounterStartsAnew) {
  EventJudge judge;
  for (double value : {1e6, 0.0, 0.0, 1e6 - 1e6})
    judge.Observe("n", Sample(Metric::kIbLinkDownedTotal, value), kSecond);
  EXPECT_THAT(judge.Findings(2 * kSecond), IsEmpty());
}

TEST(EventJudgeTest, ABurstOverTheEdgeOfAWindowIsSeen) {
  // 6 recoveries within 20 s, half of them before the first minute is over.
  EventJudge judge;
  double value = 0;
  for (int second = 0; second < 120; ++second) {
    if (second >= 50 && second < 70 && second % 3 == 0) ++value;
    judge.Observe("n", Sample(Metric::kIbLinkErrorRecoveryTotal, value), second * kSecond);
  }
  EXPECT_THAT(judge.Findings(120 * kSecond), SizeIs(1));
}

TEST(EventJudgeTest, SlowGrowthBelowTheThresholdIsNoFinding) {
  EventJudge judge;
  for (int minute = 0; minute < 600; ++minute) {
    judge.Observe("n", Sample(Metric::kIbSymbolErrorsTotal, minute), minute * 60 * kSecond);  // 60 per hour
  }
  EXPECT_THAT(judge.Findings(600 * 60 * kSecond), IsEmpty());
}

TEST(EventJudgeTest, LinkGenerationCountsOnlyUnderLoadAndWidthAlways) {
  EventJudge judge;
  const auto see = [&judge](Metric metric, double value) {
    judge.Observe("n", Sample(metric, value, "gpu0"), kSecond);
  };
  see(Metric::kGpuPcieLinkGenerationMax, 5);
  see(Metric::kGpuUtilizationRatio, 0.01);
  see(Metric::kGpuPcieLinkGeneration, 1);
  EXPECT_THAT(judge.Findings(kSecond), IsEmpty());
  see(Metric::kGpuUtilizationRatio, 0.99);
  see(Metric::kGpuPcieLinkGeneration, 1);
  EXPECT_THAT(judge.Findings(kSecond), SizeIs(1));
  see(Metric::kGpuPcieLinkWidthMax, 16);
  see(Metric::kGpuPcieLinkWidth, 8);
  const auto findings = judge.Findings(kSecond);
  ASSERT_THAT(findings, SizeIs(2));
  for (const HardwareFinding& finding : findings) {
    EXPECT_EQ(finding.verdict_class, VerdictClass::kPcieDegraded);
    EXPECT_FALSE(finding.hard);
  }
}

TEST(EventJudgeTest, ALinkThatLostMostOfItsRateIsNoted) {
  EventJudge judge;
  judge.Observe("n", Sample(Metric::kIbRateBitsPerSecond, 400e9, "mlx5_0/1"), kSecond);
  judge.Observe("n", Sample(Metric::kIbRateBitsPerSecond, 0, "mlx5_0/1"), 2 * kSecond);      // it is down, or not read
  judge.Observe("m", Sample(Metric::kIbRateBitsPerSecond, 100e9, "mlx5_0/1"), 2 * kSecond);  // it never had more
  EXPECT_THAT(judge.Findings(2 * kSecond), IsEmpty());
  judge.Observe("n", Sample(Metric::kIbRateBitsPerSecond, 100e9, "mlx5_0/1"), 3 * kSecond);
  ASSERT_THAT(judge.Findings(3 * kSecond), SizeIs(1));
  EXPECT_EQ(judge.Findings(3 * kSecond)[0].verdict_class, VerdictClass::kLinkSlow);
  EXPECT_FALSE(judge.Findings(3 * kSecond)[0].hard);
}

TEST(EventJudgeTest, OnlySlowdownBitsOfTheClockCount) {
  EventJudge judge;
  judge.Observe("n", Sample(Metric::kGpuClockEventReasons, 0x1 + 0x4, "gpu0"), kSecond);  // idle, power cap
  EXPECT_THAT(judge.Findings(kSecond), IsEmpty());
  judge.Observe("n", Sample(Metric::kGpuClockEventReasons, 0x4 + 0x40, "gpu0"), kSecond);
  ASSERT_THAT(judge.Findings(kSecond), SizeIs(1));
  EXPECT_EQ(judge.Findings(kSecond)[0].verdict_class, VerdictClass::kClockThrottled);
}

TEST(EventJudgeTest, EvidenceGoesToTheVerdictOfItsHost) {
  EventJudge judge;
  for (int i = 0; i < 5; ++i) {
    judge.Observe("node-1", Sample(Metric::kGpuRowRemapPending, 1, absl::StrCat("gpu", i)), kSecond);
  }
  judge.Observe("node-1", Xid(31), kSecond, kSecond);  // the kernel's own words are quoted elsewhere
  judge.Observe("node-2", Sample(Metric::kGpuRowRemapPending, 1, "gpu0"), kSecond);
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kGpuFault);
  verdict.culprits = {{.host = "node-1"}};
  AddCounterFindings(judge.Findings(kSecond), kSecond, verdict);
  EXPECT_THAT(verdict.evidence, SizeIs(3));
  for (const Evidence& evidence : verdict.evidence) EXPECT_THAT(evidence.text(), HasSubstr("node-1"));
}

TEST(EventJudgeTest, FindingsAreBounded) {
  EventJudge judge;
  for (size_t i = 0; i < EventJudge::kMaxFindings + 10; ++i) judge.Observe(absl::StrCat("n", i), Xid(79), 0, 0);
  EXPECT_THAT(judge.Findings(0), SizeIs(EventJudge::kMaxFindings));
  EXPECT_EQ(judge.refused(), 10u);
}

}  // namespace
}  // namespace lockstep
