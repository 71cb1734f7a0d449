#include "collector/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/status_matchers.h"
#include "collector/testing/report_builder.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

wire::CaptureEntry Input(int64_t wall_ns, uint64_t sequence, const std::string& job = "train") {
  wire::CaptureEntry entry;
  wire::CaptureInput& input = *entry.mutable_input();
  input.set_job(job);
  input.set_host("node-1");
  input.set_received_wall_ns(wall_ns);
  TestRanks ranks;
  ranks.job = job;
  ranks.first_step = static_cast<int64_t>(sequence - 1) * 10 + 1;
  *input.mutable_report() = MakeTestReport(sequence, ranks);
  return entry;
}

wire::CaptureEntry Watermark(int64_t wall_ns) {
  wire::CaptureEntry entry;
  entry.mutable_watermark()->set_job("train");
  entry.mutable_watermark()->set_wall_ns(wall_ns);
  return entry;
}

wire::CaptureEntry Reset(int64_t wall_ns) {
  wire::CaptureEntry entry;
  entry.mutable_reset()->set_job("train");
  entry.mutable_reset()->set_wall_ns(wall_ns);
  return entry;
}

wire::CaptureEntry Conclusion(int64_t wall_ns, const std::string& verdict) {
  wire::CaptureEntry entry;
  entry.mutable_conclusion()->set_job("train");
  entry.mutable_conclusion()->set_wall_ns(wall_ns);
  entry.mutable_conclusion()->set_can_conclude(true);
  entry.mutable_conclusion()->add_verdicts(verdict);
  return entry;
}

class ReplayTest : public testing::Test {
 protected:
  std::vector<std::string> lines_;
  Replayer replayer_{JobEngineOptions(), [this](absl::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(ReplayTest, ALoggedConclusionThatIsNotDrawnIsADifference) {
  ASSERT_OK(replayer_.Feed(Reset(1)));
  ASSERT_OK(replayer_.Feed(Input(2, 1)));
  ASSERT_OK(replayer_.Feed(Watermark(3)));
  ASSERT_OK(replayer_.Feed(Conclusion(3, "{\"invented\":true}")));
  EXPECT_EQ(replayer_.summary().conclusions_different, 1u);
  EXPECT_EQ(replayer_.summary().first_difference_wall_ns, 3);
}

TEST_F(ReplayTest, BeforeTheFirstResetNothingIsCompared) {
  ASSERT_OK(replayer_.Feed(Watermark(3)));
  ASSERT_OK(replayer_.Feed(Conclusion(3, "{\"invented\":true}")));
  EXPECT_EQ(replayer_.summary().conclusions_different, 0u);
  EXPECT_EQ(replayer_.summary().conclusions_unanchored, 1u);
}

TEST_F(ReplayTest, AResetMayGoBackInTimeAndNothingElse) {
  ASSERT_OK(replayer_.Feed(Reset(100)));
  ASSERT_OK(replayer_.Feed(Watermark(200)));
  EXPECT_THAT(replayer_.Feed(Watermark(199)), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("back in time")));
  ASSERT_OK(replayer_.Feed(Reset(50)));
  ASSERT_OK(replayer_.Feed(Watermark(60)));
  EXPECT_EQ(replayer_.summary().resets, 2u);
}

TEST_F(ReplayTest, AResetWithImpossibleOptionsIsRefused) {
  wire::CaptureEntry reset = Reset(1);
  reset.mutable_reset()->mutable_options()->set_max_ranks(-1);
  EXPECT_THAT(replayer_.Feed(reset), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("detector option")));
}

TEST_F(ReplayTest, ForeignOrBrokenEntriesAreRefused) {
  ASSERT_OK(replayer_.Feed(Input(2, 1)));
  EXPECT_THAT(replayer_.Feed(Input(3, 1, "other")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mixes the jobs")));
  wire::CaptureEntry broken = Input(4, 2);
  broken.mutable_input()->mutable_report()->mutable_processes(0)->set_rank(-7);
  EXPECT_THAT(replayer_.Feed(broken), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank: -7")));
  EXPECT_THAT(replayer_.Feed(wire::CaptureEntry()), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
}

}  // namespace
}  // namespace lockstep
