#include "eval/counters/counter_suite.h"

#include <algorithm>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(CounterSuiteTest, PlansAreFunctionsOfSuiteAndNumber) {
  for (const CounterSuite& suite : AllCounterSuites()) {
    EXPECT_EQ(DescribeCounterPlan(CounterPlanOf(suite, 3)), DescribeCounterPlan(CounterPlanOf(suite, 3)));
    EXPECT_EQ(CounterPlanOf(suite, 3).seed, CounterPlanOf(suite, 3).seed);
    EXPECT_NE(CounterPlanOf(suite, 3).seed, CounterPlanOf(suite, 4).seed);
    EXPECT_EQ(FindCounterSuite(suite.name), &suite);
  }
  EXPECT_EQ(FindCounterSuite("no-such-suite"), nullptr);
}

TEST(CounterSuiteTest, EveryFaultHitsAMachineOfTheJobDuringTheHistory) {
  for (const CounterSuite& suite : AllCounterSuites()) {
    for (uint64_t number = 0; number < 60; ++number) {
      const CounterPlan plan = CounterPlanOf(suite, number);
      const int64_t end_ms = plan.spec.activity.back().end_ms;
      std::set<int32_t> hosts;
      for (const CounterFault& fault : plan.faults) {
        ASSERT_TRUE(hosts.insert(fault.host).second) << "two faults of one machine";
        ASSERT_GE(fault.host, 0);
        ASSERT_LT(fault.host, plan.spec.hosts);
        ASSERT_LT(fault.device, plan.spec.devices_per_host);
        ASSERT_GE(fault.begin_ms, end_ms / 4) << "a method has to see the job healthy first";
        ASSERT_GT(fault.end_ms, fault.begin_ms + 60'000);
        ASSERT_LE(fault.end_ms, end_ms);
      }
      ASSERT_FALSE(plan.row.empty());
    }
  }
}

TEST(CounterSuiteTest, SizesComeInTurnAndTheMixIsWide) {
  std::set<int32_t> sizes;
  for (uint64_t number = 0; number < 5; ++number) {
    sizes.insert(CounterPlanOf(*FindCounterSuite("sizes"), number).spec.hosts);
  }
  EXPECT_EQ(sizes, (std::set<int32_t>{4, 16, 64, 256, 1024}));
  int32_t least = 1500, most = 0;
  std::set<std::string> rows;
  for (uint64_t number = 0; number < 300; ++number) {
    const CounterPlan plan = CounterPlanOf(*FindCounterSuite("minder-mix"), number);
    least = std::min(least, plan.spec.hosts);
    most = std::max(most, plan.spec.hosts);
    rows.insert(plan.row);
  }
  EXPECT_LT(least, 6);
  EXPECT_GT(most, 1200);
  EXPECT_EQ(rows.size(), 10u) << "two of Minder's eleven rows are one kind here";
}

TEST(CounterSuiteTest, NobodyIsToBlameForWhatIsNoFault) {
  for (const char* name : {"healthy", "not-faults"}) {
    for (uint64_t number = 0; number < 20; ++number) {
      EXPECT_TRUE(CounterPlanOf(*FindCounterSuite(name), number).faults.empty());
    }
  }
}

TEST(CounterSuiteTest, ATenthIsATenth) {
  for (uint64_t number = 0; number < 20; ++number) {
    const CounterPlan plan = CounterPlanOf(*FindCounterSuite("tenth-at-once"), number);
    EXPECT_EQ(static_cast<int32_t>(plan.faults.size()), plan.spec.hosts / 10);
  }
}

}  // namespace
}  // namespace lockstep
