// A queue between threads with a fixed capacity. A full queue refuses; the caller decides whether that means to wait
// (backpressure) or to drop and count.

#ifndef LOCKSTEP_BASE_BOUNDED_QUEUE_H_
#define LOCKSTEP_BASE_BOUNDED_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace lockstep {

// Thread-safe. After Close, pushes are refused and pops drain what is left.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Appends and returns true; leaves `item` untouched and returns false when full or closed.
  bool TryPush(T&& item) {
    MutexLock lock(mutex_);
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(item));
    not_empty_.NotifyOne();
    return true;
  }

  // Takes everything, in order, waiting up to `nanos` for the first item. Empty on time-out, or when closed and
  // drained.
  std::vector<T> PopAll(int64_t nanos) {
    const int64_t deadline = RealClock().MonotonicNanos() + nanos;
    MutexLock lock(mutex_);
    while (items_.empty() && !closed_) {
      const int64_t left = deadline - RealClock().MonotonicNanos();
      if (left <= 0) return {};
      not_empty_.WaitFor(mutex_, left);
    }
    std::vector<T> taken(std::make_move_iterator(items_.begin()), std::make_move_iterator(items_.end()));
    items_.clear();
    return taken;
  }

  void Close() {
    MutexLock lock(mutex_);
    closed_ = true;
    not_empty_.NotifyAll();
  }

  // True once closed and empty: no item will ever come again.
  bool drained() const {
    MutexLock lock(mutex_);
    return closed_ && items_.empty();
  }

  size_t size() const {
    MutexLock lock(mutex_);
    return items_.size();
  }

  size_t capacity() const { return capacity_; }

 private:
  const size_t capacity_;
  mutable Mutex mutex_;
  CondVar not_empty_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_BOUNDED_QUEUE_H_
