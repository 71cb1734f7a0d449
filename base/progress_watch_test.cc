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
  // Looks after each of so many seconds; what the last look says.
  absl::Status After(int seconds) {
    absl::Status last;
    for (int second = 0; second < seconds; ++second) last = watch_.Check(now_ns_ += kNanosPerSecond);
    return last;
  }

  ProgressWatch watch_;
  int64_t now_ns_ = 1'000 * kNanosPerSecond;
  Progress digger_{.turns = 1, .has_work = true};
  Progress writer_{.turns = 1, .has_work = true};
};

TEST_F(ProgressWatchTest, AThreadThatHasWorkAndDoesNotMoveIsNamedOnceItsLimitIsOver) {
  EXPECT_OK(After(1));
  EXPECT_OK(After(10));
  EXPECT_THAT(After(1), StatusIs(absl::StatusCode::kUnavailable,
                                 AllOf(HasSubstr("digger has work and has not moved for 11 s, at most 10 s"),
                                       Not(HasSubstr("writer")))));
  EXPECT_THAT(After(50), StatusIs(absl::StatusCode::kUnavailable, AllOf(HasSubstr("digger"), HasSubstr("; writer"))));
}

TEST_F(ProgressWatchTest, OneTurnIsEnoughAndAThreadThatMovesAgainIsWell) {
  EXPECT_OK(After(11));
  ++digger_.turns;
  EXPECT_OK(After(11));
  EXPECT_FALSE(After(1).ok());
  ++digger_.turns;
  EXPECT_OK(After(1));
}

TEST_F(ProgressWatchTest, AThreadWithoutWorkMayRestForEverAndIsGivenItsTimeWhenItGetsSome) {
  digger_.has_work = writer_.has_work = false;
  EXPECT_OK(After(10'000));
  digger_.has_work = true;
  EXPECT_OK(After(10));
  EXPECT_FALSE(After(1).ok());
}

TEST_F(ProgressWatchTest, AProcessThatWasStoppedAsAWholeAndGoesOnIsNotStuck) {
  EXPECT_OK(After(1));
  now_ns_ += 3'600 * kNanosPerSecond;
  EXPECT_OK(After(1));
  EXPECT_FALSE(After(1).ok()) << "it is not that it would never be looked at";
}

}  // namespace
}  // namespace lockstep
