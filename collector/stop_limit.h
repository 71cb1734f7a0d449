// Ends the process if its orderly end takes too long: a thread that hangs in a disk cannot be joined, and what it has
// in its hands cannot be let go.
//
// Says first what is not done. To be made before all that hangs with a disk, so that it is gone after it.

#ifndef LOCKSTEP_COLLECTOR_STOP_LIMIT_H_
#define LOCKSTEP_COLLECTOR_STOP_LIMIT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace lockstep {

// Not thread-safe.
class StopLimit {
 public:
  // Less than TimeoutStopSec= of the unit and the grace of the pod, after which nobody is told anything.
  static constexpr int64_t kNanos = 25 * kNanosPerSecond;
  // In words.
  using Left = std::function<std::string()>;

  // `expire` ends the process. It is called from a thread of its own.
  explicit StopLimit(std::function<void()> expire = EndProcess) : expire_(std::move(expire)) {}
  // The end has come in time.
  ~StopLimit();
  StopLimit(const StopLimit&) = delete;
  StopLimit& operator=(const StopLimit&) = delete;

  // The end begins, and has `nanos` of real time. `left` must not block.
  void Start(int64_t nanos, Left left);

  // From now on something else is left, and `left` of before is not asked any more.
  void Enter(Left left);

 private:
  static void EndProcess();
  void Wait(int64_t until_ns);

  const std::function<void()> expire_;
  Mutex mutex_;
  CondVar changed_;
  Left left_ ABSL_GUARDED_BY(mutex_);
  bool in_time_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STOP_LIMIT_H_
