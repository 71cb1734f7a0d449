// How long to wait before the next attempt: exponential, with jitter so that the senders of a fleet do
// not come back in step.
//
// Pure apart from drawing from its generator. Not thread-safe. Times in nanoseconds.

#ifndef LOCKSTEP_BASE_BACKOFF_H_
#define LOCKSTEP_BASE_BACKOFF_H_

#include <cstdint>

#include "base/random.h"

namespace lockstep {

// Copies its generator.
class Backoff {
 public:
  // REQUIRES: 0 < initial_ns <= max_ns.
  Backoff(int64_t initial_ns, int64_t max_ns, const Random& random)
      : initial_ns_(initial_ns), max_ns_(max_ns), ceiling_ns_(initial_ns), random_(random) {}

  // Uniform between half of a ceiling and the ceiling, which doubles with every call up to `max_ns`.
  int64_t Next() {
    const int64_t delay = Jitter(ceiling_ns_);
    ceiling_ns_ = Doubled(ceiling_ns_);
    return delay;
  }

  // What Next gives after `failures` calls, for one whose failures are counted elsewhere. The own ceiling stays.
  int64_t After(uint32_t failures) {
    int64_t ceiling_ns = initial_ns_;
    for (uint32_t i = 0; i < failures && ceiling_ns < max_ns_; ++i) ceiling_ns = Doubled(ceiling_ns);
    return Jitter(ceiling_ns);
  }

  // After a success.
  void Reset() { ceiling_ns_ = initial_ns_; }

 private:
  int64_t Doubled(int64_t ceiling_ns) const { return ceiling_ns > max_ns_ / 2 ? max_ns_ : 2 * ceiling_ns; }

  int64_t Jitter(int64_t ceiling_ns) {
    const int64_t half = ceiling_ns / 2;
    return half + static_cast<int64_t>(random_.Unit() * static_cast<double>(ceiling_ns - half));
  }

  const int64_t initial_ns_;
  const int64_t max_ns_;
  int64_t ceiling_ns_;
  Random random_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_BACKOFF_H_
