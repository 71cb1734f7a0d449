#include "eval/live/parity.h"

#include "gtest/gtest.h"

namespace lockstep {
namespace {

Verdict Slow(int32_t rank, double cost) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, VerdictClass::kComputeSlow);
  verdict.culprits = {{.host = "node-0", .rank = rank}};
  verdict.cost.slowdown_fraction = cost;
  return verdict;
}

JobReport Report(std::vector<Verdict> verdicts) {
  JobReport report;
  report.verdicts = std::move(verdicts);
  return report;
}

TEST(ParityTest, TheSameFindingsAgreeInAnyOrder) {
  EXPECT_TRUE(CompareReports(Report({}), Report({})).agrees);
  EXPECT_TRUE(CompareReports(Report({Slow(1, 0.2), Slow(2, 0.1)}), Report({Slow(2, 0.1), Slow(1, 0.21)})).agrees);
}

TEST(ParityTest, AnotherCulpritClassOrCostDiffers) {
  EXPECT_FALSE(CompareReports(Report({Slow(1, 0.2)}), Report({Slow(2, 0.2)})).agrees);
  EXPECT_FALSE(CompareReports(Report({Slow(1, 0.2)}), Report({})).agrees);
  EXPECT_FALSE(CompareReports(Report({}), Report({Slow(1, 0.2)})).agrees);
  EXPECT_FALSE(CompareReports(Report({Slow(1, 0.2)}), Report({Slow(1, 0.25)})).agrees);
  Verdict host = Slow(1, 0.2);
  host.verdict_class = VerdictClass::kHostSlow;
  EXPECT_FALSE(CompareReports(Report({Slow(1, 0.2)}), Report({host})).agrees);
}

TEST(ParityTest, ObservationsAbstentionsAndSmallCostsDoNotMatter) {
  Verdict observed = Slow(1, 0.2);
  observed.BecomeObservation();
  EXPECT_TRUE(CompareReports(Report({observed, Verdict::Abstention(NoRecords{})}), Report({})).agrees);
  EXPECT_TRUE(CompareReports(Report({Slow(1, 0.010)}), Report({Slow(1, 0.014)})).agrees);
}

}  // namespace
}  // namespace lockstep
