// What differs between ranks, what differs from what is expected, and what explains what: by hand, small.

#include "detector/patterns/pattern_comparison.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/patterns/duty_groups.h"
#include "detector/patterns/pattern_verdict.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/pattern_reasons.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kLoader[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
constexpr char kCollect[] = "<built-in function collect>";

FunctionPattern Pattern(FunctionKind kind, const std::string& name, double beta, double calls = 100) {
  FunctionPattern pattern;
  pattern.kind = kind;
  pattern.name = name;
  pattern.beta = beta;
  pattern.calls_per_second = calls;
  pattern.mean_seconds = beta / calls;
  pattern.spread = 0.2;
  return pattern;
}

// A healthy rank; what its own functions do not take, it waits in the last collective.
RankPatterns Rank(int32_t rank, double loader = 0.003, double gemm = 0.6, double collect = 0.0005) {
  RankPatterns patterns;
  patterns.rank = rank;
  patterns.window_seconds = 10;
  patterns.steps = 10;
  patterns.functions = {Pattern(FunctionKind::kGpuCompute, "gemm", gemm),
                        Pattern(FunctionKind::kRuntime, "cudaLaunchKernel", 0.02 + 0.0001 * (rank % 7)),
                        Pattern(FunctionKind::kAnnotation, kLoader, loader, 1),
                        Pattern(FunctionKind::kPython, kCollect, collect, 1)};
  patterns.functions.push_back(
      Pattern(FunctionKind::kCollective, "ncclDevKernel_AllReduce", 0.97 - loader - gemm - collect - 0.02, 10));
  return patterns;
}

PatternFleet Fleet(int32_t ranks, const std::vector<RankPatterns>& others = {}) {
  PatternFleet fleet;
  for (const RankPatterns& patterns : others) EXPECT_TRUE(fleet.Add(patterns));
  for (int32_t rank = 0; rank < ranks; ++rank) fleet.Add(Rank(rank));
  return fleet;
}

TEST(PatternComparisonTest, EqualRanksAreHealthy) {
  const PatternReport report = ComparePatterns(Fleet(32));
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.duties, 1u);
  EXPECT_EQ(report.largest_duty, 32u);
}

TEST(PatternComparisonTest, OneRankWithASlowLoader) {
  const PatternFleet fleet = Fleet(32, {Rank(5, 0.2)});
  const PatternReport report = ComparePatterns(fleet);
  ASSERT_THAT(report.findings, SizeIs(1)) << "that the others wait is not their fault";
  const PatternFinding& finding = report.findings[0];
  EXPECT_EQ(finding.pattern_class, PatternClass::kDataLoading);
  EXPECT_FALSE(finding.of_all);
  ASSERT_THAT(finding.workers, SizeIs(1));
  EXPECT_EQ(fleet.workers()[finding.workers[0]].rank, 5);
  EXPECT_EQ(finding.peers, 32u);
  EXPECT_NEAR(finding.excess(), 0.197, 1e-3);
  ASSERT_THAT(finding.functions, SizeIs(1));
  EXPECT_EQ(fleet.functions()[static_cast<size_t>(finding.functions[0].function)].name, kLoader);
  EXPECT_NEAR(finding.functions[0].usual_mean_seconds, 0.003, 1e-6);
}

TEST(PatternComparisonTest, WhatIsWrongOnAllRanksIsToldByWhatIsExpected) {
  PatternFleet fleet;
  for (int32_t rank = 0; rank < 16; ++rank) fleet.Add(Rank(rank, 0.003, 0.6, 0.05));
  const PatternReport report = ComparePatterns(fleet);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].pattern_class, PatternClass::kGarbageCollection);
  EXPECT_TRUE(report.findings[0].of_all);
  EXPECT_THAT(report.findings[0].workers, SizeIs(16));
  EXPECT_NEAR(report.findings[0].distance, 0.04, 1e-3);
  EXPECT_THAT(ComparePatterns(fleet, {.judges_all = false}).findings, IsEmpty());
}

TEST(PatternComparisonTest, BeyondWhatIsExpectedOnlyWhatCostsCounts) {
  PatternFleet fleet;
  for (int32_t rank = 0; rank < 16; ++rank) fleet.Add(Rank(rank, 0.022));
  EXPECT_THAT(ComparePatterns(fleet).findings, IsEmpty()) << "2 % are expected: it costs 0.2 %";
  EXPECT_THAT(ComparePatterns(fleet, {.least_excess = 0.001}).findings, SizeIs(1));
}

TEST(PatternComparisonTest, OfWorkThatNothingIsKnownOfMoreIsAsked) {
  for (const double work : {0.401, 0.45, 0.55}) {  // 40 % are expected
    PatternFleet fleet;
    for (int32_t rank = 0; rank < 16; ++rank) {
      RankPatterns patterns = Rank(rank, 0.003, 0.3);
      patterns.functions.push_back(Pattern(FunctionKind::kPython, "work.py(1): f", work));
      patterns.functions[4].beta -= work;
      fleet.Add(patterns);
    }
    EXPECT_THAT(ComparePatterns(fleet).findings, SizeIs(work > 0.5 ? 1 : 0)) << work;
  }
}

TEST(PatternComparisonTest, ASingleRankIsHeldAgainstWhatIsExpected) {
  PatternFleet fleet;
  fleet.Add(Rank(0, 0.3));
  const PatternReport report = ComparePatterns(fleet);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_TRUE(report.findings[0].of_all);
  EXPECT_EQ(report.findings[0].pattern_class, PatternClass::kDataLoading);
}

TEST(PatternComparisonTest, AnotherKernelForTheSameWorkIsNoTrouble) {
  PatternFleet fleet;
  for (int32_t rank = 0; rank < 32; ++rank) {
    RankPatterns patterns = Rank(rank);
    if (rank % 10 == 0) patterns.functions[0].name = "other_gemm";
    fleet.Add(patterns);
  }
  EXPECT_THAT(ComparePatterns(fleet).findings, IsEmpty());
}

TEST(PatternComparisonTest, WhoWaitsLongestInAllCollectivesHasLeastToDo) {
  EXPECT_THAT(ComparePatterns(Fleet(32, {Rank(5, 0.003, 0.4)})).findings, IsEmpty());
}

TEST(PatternComparisonTest, AGroupThatWaitsInACollectiveOfItsOwn) {
  PatternFleet fleet;
  for (int32_t rank = 0; rank < 32; ++rank) {
    RankPatterns patterns = Rank(rank);
    const double inside = rank >= 8 && rank < 12 ? 0.2 : 0.02;
    patterns.functions.back().beta -= inside;
    patterns.functions.push_back(Pattern(FunctionKind::kCollective, "ncclDevKernel_AllGather", inside));
    fleet.Add(patterns);
  }
  const PatternReport report = ComparePatterns(fleet);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].pattern_class, PatternClass::kCommunicationWait);
  EXPECT_THAT(report.findings[0].workers, ElementsAre(8, 9, 10, 11));
}

// `waits`: of ranks, in a barrier of each step that was left in.
PatternFleet FleetWithBarrier(const std::vector<double>& waits) {
  PatternFleet fleet;
  for (size_t rank = 0; rank < waits.size(); ++rank) {
    RankPatterns patterns = Rank(static_cast<int32_t>(rank), rank == 2 ? 0.2 : 0.003);
    patterns.functions.back().beta -= waits[rank];
    patterns.functions.push_back(Pattern(FunctionKind::kOperator, "gloo:barrier", waits[rank]));
    fleet.Add(patterns);
  }
  return fleet;
}

TEST(PatternComparisonTest, ABarrierThatAllWaitInIsSoftware) {
  const PatternReport report = ComparePatterns(FleetWithBarrier({0.15, 0.16, 0.12, 0.15, 0.17, 0.15}));
  ASSERT_THAT(report.findings, SizeIs(2));
  EXPECT_EQ(report.findings[0].pattern_class, PatternClass::kDataLoading);
  EXPECT_EQ(report.findings[1].pattern_class, PatternClass::kKernelLaunch);
  EXPECT_TRUE(report.findings[1].of_all);
}

TEST(PatternComparisonTest, ThatAllWaitInABarrierForTheLatestIsNotItsFault) {
  const PatternReport report = ComparePatterns(FleetWithBarrier({0.15, 0.16, 0.002, 0.15, 0.17, 0.15}));
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].pattern_class, PatternClass::kDataLoading);
  EXPECT_THAT(report.findings[0].workers, ElementsAre(2));
}

TEST(PatternComparisonTest, AHostOnWhichEverythingTakesLong) {
  PatternFleet fleet;
  for (int32_t rank = 0; rank < 32; ++rank) {
    RankPatterns patterns = Rank(rank);
    const double slow = rank == 9 ? 3 : 1;
    for (int i = 0; i < 8; ++i) {
      patterns.functions.push_back(Pattern(FunctionKind::kOperator, absl::StrCat("aten::op", i), 0.004 * slow));
    }
    patterns.functions[1].beta *= slow;
    patterns.functions[1].mean_seconds *= slow;
    fleet.Add(patterns);
  }
  const PatternReport report = ComparePatterns(fleet);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].pattern_class, PatternClass::kHostContention);
  EXPECT_THAT(report.findings[0].workers, ElementsAre(9));
}

TEST(PatternComparisonTest, StagesAreNotComparedWithEachOther) {
  for (const bool stated : {false, true}) {
    PatternFleet fleet;
    for (int32_t rank = 0; rank < 32; ++rank) {
      RankPatterns patterns = Rank(rank);
      if (rank >= 28) patterns.functions.push_back(Pattern(FunctionKind::kGpuCompute, "flash_fwd", 0.2));
      fleet.Add(patterns, stated ? (rank >= 28 ? 1 : 0) : -1);
    }
    EXPECT_THAT(DutyGroups(fleet), SizeIs(2));
    EXPECT_THAT(ComparePatterns(fleet).findings, IsEmpty());
  }
}

TEST(PatternComparisonTest, TwoFrameworksInOneJobAreTwoKinds) {
  PatternFleet fleet;
  for (int32_t rank = 0; rank < 16; ++rank) {
    RankPatterns patterns = Rank(rank);
    if (rank % 2 == 1) {
      patterns.functions[0] = Pattern(FunctionKind::kGpuCompute, "implicit_convolve", 0.4);
      patterns.functions.push_back(Pattern(FunctionKind::kGpuCompute, "bn_fw_tr", 0.15));
    }
    fleet.Add(patterns);
  }
  EXPECT_THAT(ComparePatterns(fleet).findings, IsEmpty());
  EXPECT_EQ(ComparePatterns(fleet).duties, 2u);
}

// A rank whose host computes for `work` of the time with operators of one framework, without any GPU.
RankPatterns HostRank(int32_t rank, const std::string& framework, double work) {
  RankPatterns patterns;
  patterns.rank = rank;
  patterns.window_seconds = 10;
  patterns.steps = 10;
  for (int i = 0; i < 8; ++i) {
    patterns.functions.push_back(Pattern(FunctionKind::kOperator, absl::StrCat(framework, i), work / 8));
  }
  patterns.functions.push_back(Pattern(FunctionKind::kOperator, "gloo:all_reduce", 0.75 - work, 10));
  return patterns;
}

TEST(PatternComparisonTest, TwoFrameworksWithoutGpusAreTwoKinds) {
  PatternFleet fleet;
  PatternFleet of_one;
  for (int32_t rank = 0; rank < 16; ++rank) {
    const bool is_other = rank % 5 == 0;
    fleet.Add(HostRank(rank, is_other ? "PjitFunction" : "aten::op", is_other ? 0.7 : 0.3));
    of_one.Add(HostRank(rank, "aten::op", is_other ? 0.7 : 0.3));
  }
  ASSERT_THAT(ComparePatterns(of_one).findings, SizeIs(1)) << "of one framework the four would be accused";
  EXPECT_EQ(ComparePatterns(fleet).duties, 2u);
  EXPECT_THAT(ComparePatterns(fleet).findings, IsEmpty());
}

TEST(PatternComparisonTest, FunctionsOfOneThingAreAbnormalTogether) {
  PatternFleet fleet;
  for (int32_t rank = 0; rank < 32; ++rank) {
    RankPatterns patterns = Rank(rank);
    const double each = rank == 5 ? 0.024 : 0.001;  // of two functions: each below the least excess, not both
    patterns.functions[3].beta = each;
    patterns.functions.push_back(Pattern(FunctionKind::kPython, "gc.py(12): gc.collect", each, 1));
    patterns.functions[4].beta -= 2 * each;
    fleet.Add(patterns);
  }
  const PatternReport report = ComparePatterns(fleet);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].pattern_class, PatternClass::kGarbageCollection);
  EXPECT_THAT(report.findings[0].workers, ElementsAre(5));
  EXPECT_THAT(report.findings[0].functions, SizeIs(2));
}

// Hosts whose operators take half of the time; `spread`: of the durations of their calls.
PatternFleet BusyHosts(double spread, bool use_gpus) {
  PatternFleet fleet;
  for (int32_t rank = 0; rank < 16; ++rank) {
    RankPatterns patterns = Rank(rank, 0.003, 0.3);
    if (!use_gpus) patterns.functions.erase(patterns.functions.begin());
    for (const char* call : {"cudaLaunchKernelExC", "cudaStreamSynchronize", "cudaMalloc"}) {
      patterns.functions.push_back(Pattern(FunctionKind::kRuntime, call, 0.01));
    }
    for (int i = 0; i < 8; ++i) {
      patterns.functions.push_back(Pattern(FunctionKind::kOperator, absl::StrCat("aten::op", i), 0.07));
      patterns.functions.push_back(Pattern(FunctionKind::kPython, absl::StrCat("work.py(", i, "): f"), 0.002));
    }
    for (FunctionPattern& function : patterns.functions) {
      if (function.kind != FunctionKind::kGpuCompute) function.spread = spread;
    }
    fleet.Add(patterns);
  }
  return fleet;
}

bool IsContended(const PatternFleet& fleet) {
  for (const PatternFinding& finding : ComparePatterns(fleet).findings) {
    if (finding.pattern_class == PatternClass::kHostContention && finding.of_all) return true;
  }
  return false;
}

TEST(PatternComparisonTest, WhereCallsOfAllHostsAreOfManyLengthsTheHostsAreContended) {
  EXPECT_TRUE(IsContended(BusyHosts(2, /*use_gpus=*/true)));
  EXPECT_FALSE(IsContended(BusyHosts(0.2, /*use_gpus=*/true))) << "they have much to do";
}

TEST(PatternComparisonTest, WithoutWorkOfGpusCallsAreOfManyLengthsByNature) {
  EXPECT_FALSE(IsContended(BusyHosts(2, /*use_gpus=*/false)));
}

TEST(PatternFleetTest, TheFirstProfileOfARankCounts) {
  PatternFleet fleet = Fleet(2);
  EXPECT_FALSE(fleet.Add(Rank(1, 0.5)));
  EXPECT_EQ(fleet.workers().size(), 2u);
  EXPECT_EQ(fleet.repeated_ranks(), 1u);
}

JobReport Joined(const PatternFleet& fleet, JobReport report) {
  AddPatternFindings(fleet, ComparePatterns(fleet), {}, report);
  return report;
}

TEST(PatternVerdictTest, SoftwareIsAccusedAndMakesTheJobSlow) {
  const JobReport report = Joined(Fleet(32, {Rank(5, 0.2)}), {});
  EXPECT_EQ(report.state, JobState::kSlow);
  ASSERT_THAT(report.verdicts, SizeIs(1));
  const Verdict& verdict = report.verdicts[0];
  EXPECT_EQ(verdict.scope, VerdictScope::kSoftware);
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kStorageStall);
  ASSERT_THAT(verdict.culprits, SizeIs(1));
  EXPECT_EQ(verdict.culprits[0].rank, 5);
  EXPECT_NEAR(verdict.cost.seconds_per_step, 0.197, 1e-3);
  EXPECT_THAT(verdict.evidence[0].text(),
              HasSubstr("Rank 5 waits for data loading in 20.0% of the time, the 31 others"));
  EXPECT_THAT(verdict.evidence[1].text(), HasSubstr(kLoader));
}

TEST(PatternVerdictTest, ASlowGpuIsObserved) {
  const JobReport report = Joined(Fleet(32, {Rank(5, 0.003, 0.9)}), {});
  EXPECT_EQ(report.state, JobState::kUnknown);
  ASSERT_THAT(report.verdicts, SizeIs(1));
  EXPECT_EQ(report.verdicts[0].type(), FindingType::kObservation);
  EXPECT_EQ(report.verdicts[0].verdict_class, VerdictClass::kComputeSlow);
}

TEST(PatternVerdictTest, WhatARankIsAccusedOfGetsItsReason) {
  JobReport known;
  known.state = JobState::kSlow;
  known.verdicts.push_back(Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow));
  known.verdicts[0].culprits.push_back({.host = "a", .rank = 5});
  const JobReport report = Joined(Fleet(32, {Rank(5, 0.003, 0.9)}), known);
  ASSERT_THAT(report.verdicts, SizeIs(1));
  EXPECT_NE(FindReason<WorkTakesLonger>(report.verdicts[0]), nullptr);
}

TEST(PatternVerdictTest, WhatWasUnexplainedIsALineOfTheLedger) {
  JobReport slow;
  slow.state = JobState::kSlow;
  slow.ledger = {.reference_seconds = 0.7, .measured_seconds = 1, .unexplained_seconds = 0.3};
  const JobReport report = Joined(Fleet(32, {Rank(5, 0.2)}), slow);
  ASSERT_THAT(report.ledger.lines, SizeIs(1));
  EXPECT_EQ(report.ledger.lines[0].finding, "storage_stall rank 5");
  EXPECT_NEAR(report.ledger.lines[0].seconds, 0.197, 1e-3);
  EXPECT_NEAR(report.ledger.unexplained_seconds + report.ledger.lines[0].seconds, 0.3, 1e-9);
  EXPECT_NEAR(report.verdicts[0].cost.slowdown_fraction, 0.197, 1e-3) << "of the time with it";
}

TEST(PatternVerdictTest, EvidenceOfAKnownFindingIsNoSecondLine) {
  JobReport known;
  known.state = JobState::kSlow;
  known.verdicts.push_back(Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow));
  known.verdicts[0].culprits.push_back({.host = "a", .rank = 5});
  known.ledger = {.reference_seconds = 0.7, .measured_seconds = 1, .unexplained_seconds = 0.3};
  EXPECT_THAT(Joined(Fleet(32, {Rank(5, 0.003, 0.9)}), known).ledger.lines, IsEmpty());
}

TEST(PatternVerdictTest, WhatTheComparisonLeftOutIsTold) {
  PatternFleet fleet = Fleet(32, {Rank(5, 0.2)});
  fleet.Add(Rank(3, 0.5));
  const JobReport found = Joined(fleet, {});
  ASSERT_THAT(found.verdicts, SizeIs(1));
  EXPECT_THAT(found.verdicts[0].evidence.back().text(), HasSubstr("2 further profiles of ranks that had one already"));

  RankPatterns many = Rank(0);
  for (size_t i = 0; i < kMostFleetFunctions; ++i) {
    many.functions.push_back(Pattern(FunctionKind::kPython, absl::StrCat("f", i), 1e-6));
  }
  const JobReport alike = Joined(Fleet(0, {many}), {});
  ASSERT_THAT(alike.verdicts, SizeIs(1));
  EXPECT_EQ(alike.verdicts[0].type(), FindingType::kAbstention);
  EXPECT_THAT(alike.verdicts[0].evidence.back().text(), HasSubstr("Left out of the comparison: 5 functions of ranks"));
}

TEST(PatternVerdictTest, WhereNothingCouldBeToldProfilesSaySo) {
  const JobReport report = Joined(Fleet(1), {});
  ASSERT_THAT(report.verdicts, SizeIs(1));
  EXPECT_EQ(report.verdicts[0].type(), FindingType::kAbstention);
  EXPECT_THAT(report.verdicts[0].evidence[0].text(), HasSubstr("no two of them are of equal duty"));
  JobReport healthy;
  healthy.state = JobState::kHealthy;
  EXPECT_THAT(Joined(Fleet(32), healthy).verdicts, IsEmpty());
}

}  // namespace
}  // namespace lockstep
