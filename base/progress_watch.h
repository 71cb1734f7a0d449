// Whether threads that have work get on with it: what a watchdog and a liveness page may believe.
//
// A thread counts its turns, and says whether it has work. One that has work and makes no turn for longer than its
// limit is stuck. Nothing is asked of the thread itself, and no clock is read on it; whoever checks remembers when the
// count last changed. So a thread that slept for an hour and gets work is not taken for stuck. Thread-safe.

#ifndef LOCKSTEP_BASE_PROGRESS_WATCH_H_
#define LOCKSTEP_BASE_PROGRESS_WATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
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

  // From now on Check looks at it. `limit_ns`: the longest turn that is not a fault.
  void Watch(std::string name, int64_t limit_ns, Probe probe);

  // UNAVAILABLE names every thread that is stuck, for how long, and what was expected. Sees nothing of what lies
  // between two calls: call it a few times per limit. `now_ns` is monotonic.
  absl::Status Check(int64_t now_ns);

 private:
  struct Watched {
    std::string name;
    int64_t limit_ns;
    Probe probe;
    bool seen = false;
    uint64_t turns = 0;    // when it was last seen to move
    int64_t since_ns = 0;  // since when it has not moved, though it has work
  };

  Mutex mutex_;
  std::vector<Watched> watched_ ABSL_GUARDED_BY(mutex_);  // one per thread
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_PROGRESS_WATCH_H_
