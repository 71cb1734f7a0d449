#include "collector/stop_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

#include "base/clock.h"

namespace lockstep {
namespace {

TEST(StopLimitTest, AnEndInTimeIsLeftAlone) {
  std::atomic<int> expired{0};
  {
    StopLimit limit([&] { ++expired; });
    limit.Start(60 * kNanosPerSecond, [] { return "all"; });
  }
  {
    const StopLimit never_started([&] { ++expired; });
  }
  EXPECT_EQ(expired, 0);
}

TEST(StopLimitTest, AnEndThatHangsIsCutShortAndSaysWhatIsLeftNow) {
  std::promise<void> expired;
  std::atomic<int> asked{0};
  StopLimit limit([&] { expired.set_value(); });
  limit.Start(50 * kNanosPerMilli, [&]() -> std::string {
    ADD_FAILURE() << "what it speaks of is gone";
    return "";
  });
  limit.Enter([&] {
    ++asked;
    return "the last table";
  });
  expired.get_future().wait();
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace lockstep
