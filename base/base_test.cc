#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "base/bounded_queue.h"
#include "base/log.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "base/stop_signal.h"
#include "base/testing/sim_clock.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BoundedQueue, RefusesWhenFullAndKeepsTheItem) {
  BoundedQueue<std::string> queue(2);
  EXPECT_TRUE(queue.TryPush("a"));
  EXPECT_TRUE(queue.TryPush("b"));
  std::string refused = "c";
  EXPECT_FALSE(queue.TryPush(std::move(refused)));
  EXPECT_EQ(refused, "c");
  EXPECT_THAT(queue.PopAll(0), ElementsAre("a", "b"));
}

TEST(BoundedQueue, DrainsAfterClose) {
  BoundedQueue<int> queue(4);
  EXPECT_TRUE(queue.TryPush(1));
  queue.Close();
  EXPECT_FALSE(queue.TryPush(2));
  EXPECT_FALSE(queue.drained());
  EXPECT_THAT(queue.PopAll(kNanosPerSecond), ElementsAre(1));
  EXPECT_TRUE(queue.drained());
}

TEST(BoundedQueue, HandsEverythingAcrossThreadsInOrder) {
  BoundedQueue<int> queue(8);
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i) {
      while (!queue.TryPush(int{i})) std::this_thread::yield();
    }
    queue.Close();
  });
  std::vector<int> seen;
  while (!queue.drained()) {
    for (const int value : queue.PopAll(kNanosPerSecond)) seen.push_back(value);
  }
  producer.join();
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[i], i);
}

TEST(StopSignal, EndsAWaitEarly) {
  StopSignal stop;
  EXPECT_FALSE(stop.WaitFor(1));
  std::thread stopper([&] { stop.Stop(); });
  EXPECT_TRUE(stop.WaitFor(3600 * kNanosPerSecond));
  stopper.join();
}

TEST(Random, IsReproducibleAndUniform) {
  Random a(7), b(7);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    EXPECT_EQ(a.Next(), b.Next());
    sum += a.Unit();
    b.Unit();
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(a.Below(10), 10u);
}

TEST(Log, QuotesWhatCouldForgeALine) {
  EXPECT_EQ(
      FormatLogLine(LogLevel::kInfo, SimClock::kStartWallNanos, "hi", {{"plain", "x1"}, {"bad", "a\nlevel=error"}}),
      "level=info at=2026-01-02T03:04:05.000Z msg=\"hi\" plain=x1 bad=\"a\\nlevel=error\"");
}

TEST(Log, KnowsLevelsByTheirNames) {
  EXPECT_EQ(LogLevelOf("debug"), LogLevel::kDebug);
  EXPECT_EQ(LogLevelOf("error"), LogLevel::kError);
  EXPECT_EQ(LogLevelOf("ERROR"), std::nullopt);
  EXPECT_OK(SetLogThreshold("info"));
  EXPECT_THAT(SetLogThreshold("loud"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("found 'loud'")));
}

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return value / 2;
}

absl::StatusOr<int> Quarter(int value) {
  ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(StatusMacros, ReturnTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_THAT(Quarter(6), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("odd")));
}

}  // namespace
}  // namespace lockstep
