// So many at once, and then one per interval: requests that a page answers.
//
// The bucket is full at first. A clock that stands still or goes back fills nothing. Pure. Thread-compatible.

#ifndef LOCKSTEP_BASE_TOKEN_BUCKET_H_
#define LOCKSTEP_BASE_TOKEN_BUCKET_H_

#include <algorithm>
#include <cstdint>

namespace lockstep {

class TokenBucket {
 public:
  // REQUIRES: `interval_ns` > 0 and `burst` > 0.
  TokenBucket(int64_t interval_ns, int64_t burst) : interval_ns_(interval_ns), burst_(burst), left_(burst) {}

  // Whether there is a token at `monotonic_ns`; it is gone then.
  bool Take(int64_t monotonic_ns) {
    if (left_ < burst_) {
      const int64_t came = std::clamp<int64_t>((monotonic_ns - filled_ns_) / interval_ns_, 0, burst_ - left_);
      filled_ns_ += came * interval_ns_;
      left_ += came;
    }
    if (left_ == burst_) filled_ns_ = monotonic_ns;  // what is full gains nothing more
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  const int64_t interval_ns_;
  const int64_t burst_;
  int64_t left_;
  int64_t filled_ns_ = 0;  // when the newest token came
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_TOKEN_BUCKET_H_
