// Runs pieces of work on the caller's thread and on a few that wait for such.
//
// A caller goes on with its own pieces until none is left, so that Run ends even when all other threads are busy, or
// stand in a piece that calls Run in turn. Handing out a piece takes well under a microsecond, waking a thread some
// ten: pieces should last for a millisecond. Waiting threads cost nothing.

#ifndef LOCKSTEP_BASE_THREAD_EXECUTOR_H_
#define LOCKSTEP_BASE_THREAD_EXECUTOR_H_

#include <cstddef>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/executor.h"
#include "base/mutex.h"

namespace lockstep {

// Thread-safe. No call of Run may be under way when it is destroyed.
class ThreadExecutor final : public Executor {
 public:
  // `lanes` at least 1: the threads that work for a single caller, its own among them.
  explicit ThreadExecutor(size_t lanes);
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  size_t lanes() const override { return threads_.size() + 1; }
  void Run(size_t count, absl::FunctionRef<void(size_t)> piece) override;

 private:
  // One call of Run; lives on the stack of its caller.
  struct Call {
    absl::FunctionRef<void(size_t)> piece;
    size_t count;
    size_t begun = 0;
    size_t done = 0;
  };

  void Work();
  // The next piece of a call that has one. Unlocks while the piece runs; then the call may be gone.
  void RunNext(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  std::vector<Call*> open_ ABSL_GUARDED_BY(mutex_);  // calls with pieces that have not begun, the newest last
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // last: they start when everything else is there
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_THREAD_EXECUTOR_H_
