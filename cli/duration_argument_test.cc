#include "cli/duration_argument.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(DurationArgumentTest, TakesUnits) {
  EXPECT_EQ(*ParseDurationArgument("--since", "300ms"), 300 * kNanosPerMilli);
  EXPECT_EQ(*ParseDurationArgument("--since", "10m"), 600 * kNanosPerSecond);
  EXPECT_EQ(*ParseDurationArgument("--since", "1h30m"), 5400 * kNanosPerSecond);
}

TEST(DurationArgumentTest, RefusesTheRestNamingTheFlag) {
  for (const char* text : {"", "10", "ten", "-1s", "0s", "inf", "1us", "99999999h"}) {
    EXPECT_THAT(ParseDurationArgument("--since", text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--since: '")))
        << text;
  }
}

}  // namespace
}  // namespace lockstep
