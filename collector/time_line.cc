#include "collector/time_line.h"

#include <algorithm>

namespace lockstep {

TimeLine::TimeLine(const Clock& clock)
    : clock_(clock), monotonic_ns_(clock.MonotonicNanos()), newest_ns_(clock.WallNanos()) {}

void TimeLine::ContinueBehind(int64_t newest_ns) {
  MutexLock lock(mutex_);
  newest_ns_ = std::max(newest_ns_, newest_ns + 1);
}

int64_t TimeLine::WallNanos() const {
  MutexLock lock(mutex_);
  const int64_t now_ns = clock_.MonotonicNanos();
  // Less than the slew can tell is left for the next reading: readings close to each other must not stop the slew.
  const int64_t passed_ns = now_ns - monotonic_ns_;
  if (passed_ns < kSlewShare) return newest_ns_;
  monotonic_ns_ = now_ns;
  const int64_t ahead_ns = clock_.WallNanos() - (newest_ns_ + passed_ns);
  const int64_t most_ns = passed_ns / kSlewShare;
  newest_ns_ += passed_ns + std::clamp(ahead_ns, -most_ns, most_ns);
  return newest_ns_;
}

}  // namespace lockstep
