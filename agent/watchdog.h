// Watches the agent's own cost: an observer that disturbs what it observes must say so first.

#ifndef LOCKSTEP_AGENT_WATCHDOG_H_
#define LOCKSTEP_AGENT_WATCHDOG_H_

#include <cstdint>

#include "agent/own_usage.h"
#include "base/clock.h"

namespace lockstep {

// Not thread-safe. Pure.
class Watchdog {
 public:
  static constexpr int64_t kPeriodNanos = 10 * kNanosPerSecond;
  static constexpr double kMaxCoreFraction = 0.05;           // over one period
  static constexpr int64_t kMaxResidentBytes = 128LL << 20;  // twice what the agent is meant to need

  struct Verdict {
    bool checked = false;  // a period is over; the rest says how it was
    double core_fraction = 0;
    bool cpu_exceeded = false;
    bool memory_exceeded = false;
  };

  // Call it at every tick.
  Verdict Check(const OwnUsage& usage, int64_t now_ns) {
    if (since_ns_ == 0) return Begin(usage, now_ns);
    if (now_ns - since_ns_ < kPeriodNanos) return {};
    Verdict verdict;
    verdict.checked = true;
    verdict.core_fraction = static_cast<double>(usage.cpu_ns - cpu_ns_) / static_cast<double>(now_ns - since_ns_);
    verdict.cpu_exceeded = verdict.core_fraction > kMaxCoreFraction;
    verdict.memory_exceeded = usage.resident_bytes > kMaxResidentBytes;
    Begin(usage, now_ns);
    return verdict;
  }

 private:
  Verdict Begin(const OwnUsage& usage, int64_t now_ns) {
    since_ns_ = now_ns;
    cpu_ns_ = usage.cpu_ns;
    return {};
  }

  int64_t since_ns_ = 0;  // 0 = not begun
  int64_t cpu_ns_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_WATCHDOG_H_
