#include "agent/recorder/nccl_clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lockstep::ring {
namespace {

// Longer between two readings of the counter means that the thread was interrupted in between.
constexpr uint64_t kMaxReadingCycles = 4000;
constexpr int kReadings = 3;
constexpr int kFirstReadings = 64;
// A difference of counters from here on is a negative one.
constexpr uint64_t kBehind = uint64_t{1} << 62;

}  // namespace

bool IsCycleCounterInvariant() {
#if defined(__x86_64__)
  constexpr unsigned kPowerManagementLeaf = 0x80000007;
  constexpr unsigned kInvariantTsc = 1u << 8;  // in EDX
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(kPowerManagementLeaf, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariantTsc) != 0;
#elif defined(__aarch64__)
  return true;  // the architecture's generic timer
#else
  return false;
#endif
}

void CycleClock::Start(bool use_counter) {
  bool is_anchored = false;
  // Descheduled between both readings, the first rate would be wrong by as much.
  for (int reading = 0; reading < kFirstReadings && use_counter && !is_anchored; ++reading) {
    const uint64_t before = ReadCycleCounter();
    anchor_ns_.store(MonotonicNs(), std::memory_order_relaxed);
    const uint64_t width = ReadCycleCounter() - before;
    anchor_cycles_.store(before + width / 2, std::memory_order_relaxed);
    is_anchored = width <= kMaxReadingCycles;
  }
  uses_counter_.store(is_anchored, std::memory_order_relaxed);
  valid_cycles_.store(0, std::memory_order_release);
}

int64_t CycleClock::Slow() {
  if (!uses_counter_.load(std::memory_order_relaxed)) return MonotonicNs();
  const uint64_t anchor_cycles = anchor_cycles_.load(std::memory_order_relaxed);
  const int64_t due_ns = anchor_ns_.load(std::memory_order_relaxed) + kAnchorNanos;
  int64_t now_ns = 0;
  for (int reading = 0; reading < kReadings; ++reading) {
    const uint64_t before = ReadCycleCounter();
    now_ns = MonotonicNs();
    const uint64_t width = ReadCycleCounter() - before;
    if (width > kMaxReadingCycles) continue;
    if (now_ns >= due_ns || before - anchor_cycles >= kBehind) Anchor(before + width / 2, now_ns);
    break;
  }
  return now_ns;
}

void CycleClock::Anchor(uint64_t cycles, int64_t now_ns) {
  uint32_t version = version_.load(std::memory_order_relaxed);
  if ((version & 1) != 0 || !version_.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel)) return;
  std::atomic_thread_fence(std::memory_order_release);
  const uint64_t passed = cycles - anchor_cycles_.load(std::memory_order_relaxed);
  const int64_t elapsed_ns = now_ns - anchor_ns_.load(std::memory_order_relaxed);
  // Another thread found it due at the same time: a rate over what lies between both would be noise.
  if (elapsed_ns < kAnchorNanos && passed < kBehind) {
    version_.store(version, std::memory_order_release);
    return;
  }
  const uint64_t valid = valid_cycles_.load(std::memory_order_relaxed);
  // Readings were served for `valid` cycles only: just after that the error was largest.
  if (valid != 0 && passed >= valid && passed < 2 * valid) {
    const auto predicted_ns = static_cast<int64_t>(passed * rate_.load(std::memory_order_relaxed) >> kRateBits);
    const int64_t error_ns = predicted_ns > elapsed_ns ? predicted_ns - elapsed_ns : elapsed_ns - predicted_ns;
    if (error_ns > largest_error_ns_.load(std::memory_order_relaxed)) {
      largest_error_ns_.store(error_ns < UINT32_MAX ? static_cast<uint32_t>(error_ns) : UINT32_MAX,
                              std::memory_order_relaxed);
    }
    if (error_ns > kMaxErrorNs && bad_corrections_.fetch_add(1, std::memory_order_relaxed) + 1 >= kMaxBadCorrections) {
      uses_counter_.store(false, std::memory_order_relaxed);
    }
  }
  uint64_t next_valid = 0;
  if (uses_counter_.load(std::memory_order_relaxed) && passed > 0 && passed < kBehind && elapsed_ns > 0) {
    const double rate = static_cast<double>(elapsed_ns) / static_cast<double>(passed);
    rate_.store(static_cast<uint64_t>(rate * (1 << kRateBits)), std::memory_order_relaxed);
    next_valid = static_cast<uint64_t>(static_cast<double>(kAnchorNanos) / rate);
  }
  valid_cycles_.store(next_valid, std::memory_order_relaxed);
  anchor_cycles_.store(cycles, std::memory_order_relaxed);
  anchor_ns_.store(now_ns, std::memory_order_relaxed);
  version_.store(version + 2, std::memory_order_release);
}

}  // namespace lockstep::ring
