// The lock under which operations begin, one at a time: bounded, so that it never blocks a job for long.
//
// What it guards takes some twenty nanoseconds, unless the holder is descheduled: then the CPU is offered to it a
// number of times, which costs next to nothing where CPUs are free, and is better than an operation that nobody sees
// where they are not. Check held(). Thread-safe, allocates nothing.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_BEGIN_LOCK_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_BEGIN_LOCK_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "agent/recorder/ring_access.h"

namespace lockstep::ring {

class BeginLock {
 public:
  static constexpr int kMaxSpins = 2048;
  static constexpr int kMaxYields = 256;

  explicit BeginLock(std::atomic<uint32_t>& word, int max_spins = kMaxSpins, int max_yields = 0)
      : word_(word), held_(TryOnce(word)) {
    if (!held_) [[unlikely]]
      held_ = Wait(word, max_spins, max_yields);
  }
  ~BeginLock() {
    if (held_) word_.store(0, std::memory_order_release);
  }
  BeginLock(const BeginLock&) = delete;
  BeginLock& operator=(const BeginLock&) = delete;
  bool held() const { return held_; }
  // The word stays taken when this goes; true, if it was. Whoever keeps it stores 0 in the end.
  bool Keep() {
    const bool held = held_;
    held_ = false;
    return held;
  }

 private:
  static bool TryOnce(std::atomic<uint32_t>& word) {
    uint32_t expected = 0;
    return word.compare_exchange_strong(expected, 1, std::memory_order_seq_cst, std::memory_order_relaxed);
  }
  [[gnu::noinline, gnu::cold]] static bool Wait(std::atomic<uint32_t>& word, int max_spins, int max_yields) {
    for (int spin = 0; spin < max_spins + max_yields; ++spin) {
      if (word.load(std::memory_order_relaxed) == 0 && TryOnce(word)) return true;
      if (spin < max_spins) {
        CpuPause();
      } else {
        sched_yield();
      }
    }
    return false;
  }

  std::atomic<uint32_t>& word_;
  bool held_;
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_BEGIN_LOCK_H_
