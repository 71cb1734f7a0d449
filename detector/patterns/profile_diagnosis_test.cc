#include "detector/patterns/profile_diagnosis.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "detector/patterns/function_kind.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

// A rank that waits for its data for a share of the time, and computes for the rest.
ProfiledRank Rank(int32_t rank, double loading) {
  ProfiledRank profiled;
  profiled.pid = 100 + rank;
  profiled.patterns.rank = rank;
  profiled.patterns.host = absl::StrCat("node-", rank / 2);
  profiled.patterns.window_seconds = 1;
  profiled.patterns.functions = {{.kind = FunctionKind::kGpuCompute,
                                  .name = "gemm",
                                  .beta = 1 - loading,
                                  .calls_per_second = 10,
                                  .mean_seconds = 0.05},
                                 {.kind = FunctionKind::kAnnotation,
                                  .name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                                  .beta = loading,
                                  .calls_per_second = 5,
                                  .mean_seconds = loading / 5}};
  return profiled;
}

TEST(ProfileDiagnosisTest, TheRankThatWaitsForItsDataIsNamedWithItsHost) {
  std::vector<ProfiledRank> ranks;
  for (int32_t rank = 0; rank < 8; ++rank) ranks.push_back(Rank(rank, rank == 5 ? 0.4 : 0.01));
  ranks.push_back(Rank(0, 0.9));  // again
  const JobReport report = DiagnoseProfiles("job", ranks);
  EXPECT_EQ(report.ranks, 8);
  EXPECT_EQ(report.hosts, 4);
  EXPECT_EQ(report.state, JobState::kSlow);
  ASSERT_FALSE(report.verdicts.empty());
  const Verdict& verdict = report.verdicts[0];
  EXPECT_EQ(verdict.scope, VerdictScope::kSoftware);
  EXPECT_EQ(verdict.verdict_class, VerdictClass::kStorageStall);
  ASSERT_EQ(verdict.culprits.size(), 1u);
  EXPECT_EQ(verdict.culprits[0].rank, 5);
  EXPECT_EQ(verdict.culprits[0].host, "node-2");
  EXPECT_EQ(verdict.culprits[0].pid, 105);
}

// Calls are as many on all ranks, so that profiles alone do not tell the stages apart.
TEST(ProfileDiagnosisTest, RanksAreComparedWithinTheirDuty) {
  std::vector<ProfiledRank> ranks;
  for (int32_t rank = 0; rank < 12; ++rank) {
    ProfiledRank& added = ranks.emplace_back();
    added.patterns.rank = rank;
    added.patterns.host = "node-0";
    added.patterns.window_seconds = 1;
    const double share = rank < 3 ? 0.9 : 0.4;
    added.patterns.functions = {{.kind = FunctionKind::kGpuCompute,
                                 .name = "gemm",
                                 .beta = share,
                                 .calls_per_second = 10,
                                 .mean_seconds = share / 10}};
  }
  ASSERT_EQ(DiagnoseProfiles("job", ranks).verdicts.front().culprits.size(), 3u) << "a stage with more to do";
  for (ProfiledRank& rank : ranks) rank.duty = rank.patterns.rank < 3 ? 0 : 1;
  const JobReport report = DiagnoseProfiles("job", ranks);
  ASSERT_EQ(report.verdicts.size(), 1u);
  EXPECT_EQ(report.verdicts[0].type(), FindingType::kAbstention);
}

TEST(ProfileDiagnosisTest, NothingIsSaidWhereAllAreAlike) {
  const JobReport report = DiagnoseProfiles("job", {Rank(0, 0.01), Rank(1, 0.01), Rank(2, 0.01)});
  EXPECT_EQ(report.state, JobState::kUnknown);
  ASSERT_EQ(report.verdicts.size(), 1u);
  EXPECT_EQ(report.verdicts[0].type(), FindingType::kAbstention);
  EXPECT_TRUE(DiagnoseProfiles("job", {}).verdicts.empty());
}

}  // namespace
}  // namespace lockstep
