#include "base/progress_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ProgressWatchTest : public testing::Test {
 protected:
  ProgressWatchTest() {
    watch_.Watch("digger", 10 * kNanosPerSecond, [this] { return digger_; });
    watch_.Watch("writer", 60 * kNanosPerSecond, [this] { return writer_; });
  }
  absl::Status At(int64_t second) { return watch_.Check(second * kNanosPerSecond); }

  ProgressWatch watch_;
  Progress digger_{.turns = 1, .has_work = true};
  Progress writer_{.turns = 1, .has_work = true};
};

TEST_F(ProgressWatchTest, AThreadThatHasWorkAndDoesNotMoveIsNamedOnceItsLimitIsOver) {
  EXPECT_OK(At(100));
  EXPECT_OK(At(110));
  EXPECT_THAT(At(111), StatusIs(absl::StatusCode::kUnavailable,
                                AllOf(HasSubstr("digger has work and has not moved for 11 s, at most 10 s"),
                                      Not(HasSubstr("writer")))));
  EXPECT_THAT(At(161), StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("digger"), HasSubstr("; writer"))));
}

TEST_F(ProgressWatchTest, OneTurnIsEnoughAndAThreadThatMovesAgainIsWell) {
  EXPECT_OK(At(100));
  ++digger_.turns;
  EXPECT_OK(At(111));
  EXPECT_FALSE(At(122).ok());
  ++digger_.turns;
  EXPECT_OK(At(123));
}

TEST_F(ProgressWatchTest, AThreadWithoutWorkMayRestForEverAndIsGivenItsTimeWhenItGetsSome) {
  digger_.has_work = writer_.has_work = false;
  EXPECT_OK(At(100));
  EXPECT_OK(At(10'000));
  digger_.has_work = true;
  EXPECT_OK(At(10'001));
  EXPECT_OK(At(10'010));
  EXPECT_FALSE(At(10'012).ok());
}

}  // namespace
}  // namespace lockstep
