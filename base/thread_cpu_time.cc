#include "base/thread_cpu_time.h"

#include <ctime>

namespace lockstep {

int64_t ThreadCpuNanos() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace lockstep
