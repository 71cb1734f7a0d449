// How many processes an agent looks into at the same time: what each may cost in memory, all together may not.

#ifndef LOCKSTEP_AGENT_STACKS_STACK_TURNS_H_
#define LOCKSTEP_AGENT_STACKS_STACK_TURNS_H_

#include <cstddef>

#include "base/mutex.h"

namespace lockstep {

// Thread-safe.
class StackTurns {
 public:
  // A look keeps at most some 40 MiB: 16 of the reader of C, 12 of stacks and 8 of the text of maps, and what is under
  // way. MemoryMax of the agent's unit is 256 MiB.
  static constexpr size_t kAtOnce = 3;

  // False = all are taken.
  bool Take() {
    MutexLock lock(mutex_);
    if (taken_ == kAtOnce) return false;
    ++taken_;
    return true;
  }

  void GiveBack() {
    MutexLock lock(mutex_);
    --taken_;
  }

 private:
  Mutex mutex_;
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_STACKS_STACK_TURNS_H_
