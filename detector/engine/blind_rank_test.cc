// Ranks whose recorders do not see begins cost their own evidence, not that of the others.

#include <cstdint>
#include <vector>

#include "detector/engine/diagnosis.h"
#include "detector/model/trace.h"
#include "detector/testing/meeting_job.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

constexpr int32_t kSlowRank = 5, kSlowFrom = 15;
constexpr int32_t kBlindRank = 2;

// Of `blind` nobody saw begins.
Trace WithASlowRank(int32_t blind) {
  return TraceOf({.blind_rank = blind},
                 [](int32_t rank, int32_t step) { return rank == kSlowRank && step >= kSlowFrom ? 110 : 80; });
}

TEST(BlindRankTest, ASlowRankIsNamedBesideOneWhoseBeginsNobodySaw) {
  for (const int32_t blind : {-1, kBlindRank}) {
    const JobReport report = Diagnose({.job = "job", .trace = WithASlowRank(blind)}, {});
    std::vector<int32_t> accused;
    for (const Verdict& verdict : report.verdicts) {
      if (verdict.type() != FindingType::kAccusation) continue;
      for (const Culprit& culprit : verdict.culprits) accused.push_back(culprit.rank);
    }
    EXPECT_EQ(accused, std::vector<int32_t>{kSlowRank}) << "blind: " << blind;
    EXPECT_EQ(report.state, JobState::kSlow) << "blind: " << blind;
  }
}

}  // namespace
}  // namespace lockstep
