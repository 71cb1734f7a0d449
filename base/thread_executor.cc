#include "base/thread_executor.h"

#include <algorithm>

#include "base/check.h"

namespace lockstep {

ThreadExecutor::ThreadExecutor(size_t lanes) {
  CHECK(lanes >= 1);
  threads_.reserve(lanes - 1);
  for (size_t i = 1; i < lanes; ++i) threads_.emplace_back([this] { Work(); });
}

ThreadExecutor::~ThreadExecutor() {
  {
    MutexLock lock(mutex_);
    CHECK(open_.empty());
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadExecutor::Run(size_t count, absl::FunctionRef<void(size_t)> piece) {
  if (count == 0) return;
  Call call{.piece = piece, .count = count};
  MutexLock lock(mutex_);
  open_.push_back(&call);
  if (count > 1) changed_.NotifyAll();
  while (call.begun < count) RunNext(call);
  while (call.done < count) changed_.Wait(mutex_);
}

void ThreadExecutor::Work() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (open_.empty()) {
      changed_.Wait(mutex_);
    } else {
      RunNext(*open_.back());
    }
  }
}

void ThreadExecutor::RunNext(Call& call) {
  const size_t number = call.begun++;
  if (call.begun == call.count) open_.erase(std::find(open_.begin(), open_.end(), &call));
  mutex_.Unlock();
  call.piece(number);
  mutex_.Lock();
  if (++call.done == call.count) changed_.NotifyAll();
}

}  // namespace lockstep
