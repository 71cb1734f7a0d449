// Whether threads that have work get on with it: what a watchdog and a liveness page may believe.
//
// A thread counts its turns, and says whether it has work. One that has work and makes no turn for longer than its
// limit is stuck. Nothing is asked of the thread itself, and no clock is read on it; whoever checks remembers when the
// count last changed. So a thread that slept for an hour and gets work is not taken for stuck, nor are the threads of a
// process that was stopped as a whole and goes on. Thread-safe.

#ifndef LOCKSTEP_BASE_PROGRESS_WATCH_H_
#define LOCKSTEP_BASE_PROGRESS_WATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace lockstep {

struct Progress {
  uint64_t turns = 0;     // rises whenever the thread gets further
  bool has_work = false;  // it would have to get further
};

class ProgressWatch {
 public:
  // Must be thread-safe, and must not wait for the thread that it is about.
  using Probe = std::function<Progress()>;

  // What lies between two checks counts as this much at most: nobody looked. Kubernetes asks that often.
  static constexpr int64_t kLongestGapNanos = 10 * kNanosPerSecond;

  // From now on Check looks at it. `limit_ns`: the longest turn that is not a fault.
  void Watch(std::string name, int64_t limit_ns, Probe probe);

  // UNAVAILABLE names every thread that is stuck, for how long, and what was expected. To be called once per
  // kLongestGapNanos or more often. `now_ns` is monotonic.
  absl::Status Check(int64_t now_ns);

 private:
  struct Watched {
    std::string name;
    int64_t limit_ns;
    Probe probe;
    uint64_t turns = 0;    // when it was last looked at
    int64_t still_ns = 0;  // how long it has not moved since, though it has work
  };

  Mutex mutex_;
  std::vector<Watched> watched_ ABSL_GUARDED_BY(mutex_);  // one per thread
  int64_t checked_ns_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_PROGRESS_WATCH_H_
