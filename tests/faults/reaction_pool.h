// The threads of a server that run what its streams react to, as gRPC's do: several at once, never inside of the call
// that caused it. Thread-safe.

#ifndef LOCKSTEP_TESTS_FAULTS_REACTION_POOL_H_
#define LOCKSTEP_TESTS_FAULTS_REACTION_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace lockstep::faults {

class ReactionPool {
 public:
  static constexpr int kThreads = 2;

  // The threads belong to the machine of the calling one.
  ReactionPool() {
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
  }
  // Runs what waits, and what that adds.
  ~ReactionPool() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  ReactionPool(const ReactionPool&) = delete;
  ReactionPool& operator=(const ReactionPool&) = delete;

  void Add(std::function<void()> reaction) {
    MutexLock lock(mutex_);
    reactions_.push_back(std::move(reaction));
    changed_.NotifyOne();
  }

 private:
  void Run() {
    while (true) {
      std::function<void()> reaction;
      {
        MutexLock lock(mutex_);
        while (reactions_.empty() && !stopping_) changed_.Wait(mutex_);
        if (reactions_.empty()) return;
        reaction = std::move(reactions_.front());
        reactions_.pop_front();
      }
      reaction();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> reactions_ ABSL_GUARDED_BY(mutex_);  // bounded by what streams have under way
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_REACTION_POOL_H_
