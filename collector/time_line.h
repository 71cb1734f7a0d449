// The time that history and jobs reckon by: stamps of reports and watermarks, ages, what is kept how long, "until now".
//
// It is the wall clock, except that it never jumps: it runs as fast as the monotonic clock and follows the wall clock
// slowly. A wall clock that is set must neither age an incident nor stop one from ageing, must not delete a month of
// history, and must not hide the newest hour from whoever asks for everything until now.

#ifndef LOCKSTEP_COLLECTOR_TIME_LINE_H_
#define LOCKSTEP_COLLECTOR_TIME_LINE_H_

#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"

namespace lockstep {

// Thread-safe.
class TimeLine final : public Clock {
 public:
  // The wall clock is followed by at most this share of the time that passes: a minute of difference is gone within
  // an hour, and no duration is wrong by more than detectors notice.
  static constexpr int64_t kSlewShare = 50;

  // Begins at the wall clock. Borrows `clock`.
  explicit TimeLine(const Clock& clock);

  // Goes on behind `newest_ns`, the newest time that an earlier life has written. To be called before it matters.
  void ContinueBehind(int64_t newest_ns);

  // Never goes back.
  int64_t WallNanos() const override;
  int64_t MonotonicNanos() const override { return clock_.MonotonicNanos(); }

 private:
  const Clock& clock_;
  mutable Mutex mutex_;
  mutable int64_t monotonic_ns_ ABSL_GUARDED_BY(mutex_);  // of the newest reading
  mutable int64_t newest_ns_ ABSL_GUARDED_BY(mutex_);     // the reading
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_TIME_LINE_H_
