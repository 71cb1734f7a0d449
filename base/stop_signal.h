// A one-way switch that ends loops: "sleep until the next tick, or until told to stop".

#ifndef LOCKSTEP_BASE_STOP_SIGNAL_H_
#define LOCKSTEP_BASE_STOP_SIGNAL_H_

#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"

namespace lockstep {

// Thread-safe. Once stopped, stays stopped.
class StopSignal {
 public:
  void Stop() {
    MutexLock lock(mutex_);
    stopped_ = true;
    condition_.NotifyAll();
  }

  bool stopped() const {
    MutexLock lock(mutex_);
    return stopped_;
  }

  // Sleeps for `nanos` of real time; returns true as soon as the signal is stopped, false when the time is over.
  bool WaitFor(int64_t nanos) {
    const int64_t deadline = RealClock().MonotonicNanos() + nanos;
    MutexLock lock(mutex_);
    while (!stopped_) {
      const int64_t left = deadline - RealClock().MonotonicNanos();
      if (left <= 0) return false;
      condition_.WaitFor(mutex_, left);
    }
    return true;
  }

 private:
  mutable Mutex mutex_;
  CondVar condition_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_STOP_SIGNAL_H_
