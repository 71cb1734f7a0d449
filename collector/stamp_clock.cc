#include "collector/stamp_clock.h"

#include <algorithm>
#include <utility>

namespace lockstep {

StampClock::StampClock(const Clock& clock, int64_t newest_ns)
    : clock_(clock), monotonic_ns_(clock.MonotonicNanos()), last_ns_(std::max(newest_ns, clock.WallNanos() - 1)) {}

int64_t StampClock::Next() {
  const int64_t now_ns = clock_.MonotonicNanos();
  const int64_t passed_ns = now_ns - std::exchange(monotonic_ns_, now_ns);
  const int64_t behind_ns = clock_.WallNanos() - (last_ns_ + passed_ns);
  const int64_t most_ns = passed_ns / kSlewShare;
  last_ns_ = std::max(last_ns_ + 1, last_ns_ + passed_ns + std::clamp(behind_ns, -most_ns, most_ns));
  return last_ns_;
}

}  // namespace lockstep
