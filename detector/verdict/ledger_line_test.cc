// What a finding of a profile takes from what a ledger leaves unexplained.

#include "detector/verdict/ledger_line.h"

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TimeLedger Ledger(double unexplained_seconds) {
  TimeLedger ledger;
  ledger.measured_seconds = 2;
  ledger.lines = {{"link_slow node-1 - node-2", 0.3}};
  ledger.unexplained_seconds = unexplained_seconds;
  ledger.reference_seconds = 2 - 0.3 - unexplained_seconds;
  return ledger;
}

double SumOf(const TimeLedger& ledger) {
  double sum = ledger.reference_seconds + ledger.unexplained_seconds;
  for (const LedgerLine& line : ledger.lines) sum += line.seconds;
  return sum;
}

TEST(LedgerLineTest, NamesTheClassAndTheFirstCulprit) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kSoftware, VerdictClass::kStorageStall);
  EXPECT_EQ(FindingName(verdict), "storage_stall");
  verdict.culprits.push_back({.host = "node-1", .rank = 3});
  verdict.culprits.push_back({.host = "node-2", .rank = 9});
  EXPECT_EQ(FindingName(verdict), "storage_stall rank 3 node-1");
}

TEST(LedgerLineTest, AFindingTakesItsPartOfWhatIsUnexplained) {
  TimeLedger ledger = Ledger(0.5);
  Explain("storage_stall rank 3", 0.1, ledger);
  ASSERT_EQ(ledger.lines.size(), 2u);
  EXPECT_EQ(ledger.lines[1].finding, "storage_stall rank 3");
  EXPECT_DOUBLE_EQ(ledger.lines[1].seconds, 0.2);
  EXPECT_DOUBLE_EQ(ledger.unexplained_seconds, 0.3);
  EXPECT_DOUBLE_EQ(SumOf(ledger), 2);
}

TEST(LedgerLineTest, AndNoMoreThanThat) {
  TimeLedger ledger = Ledger(0.5);
  Explain("storage_stall rank 3", 0.4, ledger);
  Explain("job_regression", 0.4, ledger);
  ASSERT_EQ(ledger.lines.size(), 2u) << "the second finds nothing left";
  EXPECT_DOUBLE_EQ(ledger.lines[1].seconds, 0.5);
  EXPECT_DOUBLE_EQ(SumOf(ledger), 2);
}

TEST(LedgerLineTest, WhereNothingIsUnexplainedNothingHappens) {
  for (const double unexplained : {0.0, -0.1}) {
    TimeLedger ledger = Ledger(unexplained);
    Explain("job_regression", 0.4, ledger);
    EXPECT_EQ(ledger.lines.size(), 1u);
    EXPECT_DOUBLE_EQ(SumOf(ledger), 2);
  }
  TimeLedger unknown;
  Explain("job_regression", 0.4, unknown);
  EXPECT_TRUE(unknown.lines.empty());
}

}  // namespace
}  // namespace lockstep
