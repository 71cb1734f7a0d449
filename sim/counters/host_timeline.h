// The moments at which a host is sampled, and what it goes through at each: foreign work, holes, restarts, and what the
// job does meanwhile.
//
// All series of the host share them. Bursts, holes and restarts come at a rate per hour, at most one of each per
// minute. A host that a fault makes unreachable has a hole for as long. Everything follows from seed and host. The
// specification must outlive it. Immutable; thread-safe.

#ifndef LOCKSTEP_SIM_COUNTERS_HOST_TIMELINE_H_
#define LOCKSTEP_SIM_COUNTERS_HOST_TIMELINE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sim/counters/counter_spec.h"
#include "sim/counters/triangle_wave.h"

namespace lockstep {

struct HostTick {
  int64_t ms = 0;  // true time
  Activity activity = Activity::kTraining;
  bool in_burst = false;
  bool in_gap = false;  // nothing is recorded; in a restart as well
  bool in_restart = false;
  double compute_share = 0;  // of the interval that ends here
  double drift = 1;          // factor of the slow wave that all machines share
};

class HostTimeline {
 public:
  HostTimeline(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed, int32_t host);

  // From the first to the end of the job's activity. Cost O(moments x (bursts + holes)).
  std::vector<HostTick> TicksEvery(int64_t interval_ms) const;

  // By how much the host's clock is ahead of true time.
  int64_t skew_ms() const { return skew_ms_; }

 private:
  struct Window {
    int64_t begin_ms;
    int64_t end_ms;
    bool Contains(int64_t ms) const { return ms >= begin_ms && ms < end_ms; }
  };

  static bool InAny(const std::vector<Window>& windows, int64_t ms);
  std::vector<Window> DrawWindows(uint64_t family, double per_hour, double seconds) const;

  static constexpr int64_t kCommonDriftPeriodMs = 24 * 3'600'000;

  const CounterSpec& spec_;
  const uint64_t seed_;
  const int32_t host_;
  const int64_t end_ms_;
  const TriangleWave<kCommonDriftPeriodMs> day_wave_;
  std::vector<Window> bursts_;
  std::vector<Window> restarts_;
  std::vector<Window> gaps_;
  int64_t skew_ms_ = 0;
  int64_t tick_offset_ms_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_HOST_TIMELINE_H_
