#include "base/thread_cpu_time.h"

#include <cstdint>
#include <thread>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Works until this thread has run for another millisecond; bounded.
int64_t WorkForAMillisecond() {
  const int64_t from_ns = ThreadCpuNanos();
  volatile uint64_t sum = 0;
  for (uint64_t i = 0; i < 1'000'000'000 && ThreadCpuNanos() - from_ns < 1'000'000; ++i) sum = sum + i;
  return ThreadCpuNanos() - from_ns;
}

TEST(ThreadCpuTimeTest, WorkCountsAndThatOfOthersDoesNot) {
  const int64_t before_ns = ThreadCpuNanos();
  int64_t theirs_ns = 0;
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) theirs_ns += WorkForAMillisecond();
  });
  other.join();
  const int64_t mine_ns = ThreadCpuNanos() - before_ns;
  EXPECT_GE(theirs_ns, 50'000'000);
  EXPECT_LT(mine_ns, theirs_ns / 2);
  EXPECT_GE(WorkForAMillisecond(), 1'000'000);
}

}  // namespace
}  // namespace lockstep
