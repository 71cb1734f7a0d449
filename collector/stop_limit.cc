#include "collector/stop_limit.h"

#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "daemon/exit_codes.h"

namespace lockstep {

StopLimit::~StopLimit() {
  {
    MutexLock lock(mutex_);
    in_time_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void StopLimit::Start(int64_t nanos, Left left) {
  Enter(std::move(left));
  thread_ = std::thread([this, until_ns = RealClock().MonotonicNanos() + nanos] { Wait(until_ns); });
}

void StopLimit::Enter(Left left) {
  MutexLock lock(mutex_);
  left_ = std::move(left);
}

// Nothing is destroyed: that would wait for the same disk.
void StopLimit::EndProcess() { _exit(kExitInternal); }

void StopLimit::Wait(int64_t until_ns) {
  MutexLock lock(mutex_);
  while (!in_time_) {
    const int64_t nanos = until_ns - RealClock().MonotonicNanos();
    if (nanos > 0) {
      changed_.WaitFor(mutex_, nanos);
      continue;
    }
    Log(LogLevel::kError, "the end takes too long and is cut short; agents send again what is not acknowledged",
        {{"left", left_()}});
    return expire_();
  }
}

}  // namespace lockstep
