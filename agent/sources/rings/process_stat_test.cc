#include "agent/sources/rings/process_stat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(ProcessStatTest, CommandNamesCannotForgeFields) {
  const auto stat = ParseProcessStat("42 (a) R (b) ) T 1 2 3 4 5 6 7 8 9 10 300 40 0 0 20 0 1 0 999 5");
  ASSERT_OK(stat);
  EXPECT_EQ(stat->state, 'T');
  EXPECT_EQ(stat->parent, 1);
  EXPECT_EQ(stat->cpu_ticks, 340u);
  EXPECT_EQ(stat->start_ticks, 999u);
  EXPECT_THAT(ParseProcessStat("42 (a) R 1 2"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("field")));
}

}  // namespace
}  // namespace lockstep
