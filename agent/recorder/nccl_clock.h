// CLOCK_MONOTONIC, read from the CPU's cycle counter where that is trustworthy: one reading is half the price of
// clock_gettime, and a recorder reads the clock several times for each operation.
//
// The counter is tied to CLOCK_MONOTONIC every kAnchorNanos of use, with the rate of the interval before. What each
// correction amounts to is the error of the readings before it; the largest is kept (largest_error_ns). After
// kMaxBadCorrections above kMaxErrorNs, and on a CPU without an invariant counter, it is clock_gettime for good.
//
// Thread-safe, never blocks, allocates nothing. Constant-initialized; inert (clock_gettime) until Start.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_CLOCK_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "agent/recorder/ring_file.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace lockstep::ring {

// The counter that this CPU offers; 0 = none.
inline uint64_t ReadCycleCounter() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return 0;
#endif
}

// Whether it runs at one rate, on all cores, in all states of power saving.
bool IsCycleCounterInvariant();

class CycleClock {
 public:
  static constexpr int64_t kAnchorNanos = 100'000'000;
  static constexpr uint32_t kMaxErrorNs = 20'000;
  static constexpr int kMaxBadCorrections = 3;

  constexpr CycleClock() = default;
  CycleClock(const CycleClock&) = delete;
  CycleClock& operator=(const CycleClock&) = delete;

  // Begins to calibrate. `use_counter` false = clock_gettime for good.
  void Start(bool use_counter);

  int64_t NowNs() {
    const uint32_t version = version_.load(std::memory_order_acquire);
    const uint64_t passed = ReadCycleCounter() - anchor_cycles_.load(std::memory_order_relaxed);
    const int64_t anchor_ns = anchor_ns_.load(std::memory_order_relaxed);
    const uint64_t rate = rate_.load(std::memory_order_relaxed);
    // A counter that is behind the anchor wraps to a large number.
    if (passed >= valid_cycles_.load(std::memory_order_relaxed) || (version & 1) != 0) return Slow();
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version_.load(std::memory_order_relaxed) != version) return Slow();
    return anchor_ns + static_cast<int64_t>(passed * rate >> kRateBits);
  }

  bool uses_counter() const { return uses_counter_.load(std::memory_order_relaxed); }
  uint32_t largest_error_ns() const { return largest_error_ns_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kRateBits = 24;  // of the fraction: 0.1 s at 5 GHz times the rate stays far below 2^64

  // clock_gettime, and the next anchor when it is due.
  int64_t Slow();
  void Anchor(uint64_t cycles, int64_t now_ns);

  std::atomic<uint32_t> version_{0};  // odd = being anchored
  std::atomic<uint64_t> anchor_cycles_{0};
  std::atomic<int64_t> anchor_ns_{0};
  std::atomic<uint64_t> rate_{0};          // nanoseconds per cycle, kRateBits of fraction
  std::atomic<uint64_t> valid_cycles_{0};  // after the anchor; 0 = the rate is not known
  std::atomic<bool> uses_counter_{false};
  std::atomic<uint32_t> largest_error_ns_{0};
  std::atomic<int> bad_corrections_{0};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_CLOCK_H_
