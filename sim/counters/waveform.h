// Every metric that the simulator makes, and its level in each part of a job's life.
//
// The levels are round numbers of machines with eight GPUs of the 700 W class, ours. Immutable; thread-safe.

#ifndef LOCKSTEP_SIM_COUNTERS_WAVEFORM_H_
#define LOCKSTEP_SIM_COUNTERS_WAVEFORM_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "base/metric_catalog.h"
#include "sim/counters/counter_spec.h"

namespace lockstep {

enum class CounterDevice : uint8_t { kHost, kGpu, kHca, kInterface };

// A metric while the job trains (in the compute and in the communication part of a step), pauses, and hangs. Counters
// are given per second.
struct Waveform {
  Metric metric;
  CounterDevice device;
  bool slow;
  double compute;
  double communication;
  double pause;
  double stuck;
  double jitter;  // multiplies CounterNoise::jitter; 0 = exact, the same on all machines
  double most;    // the value never exceeds this; 0 = no limit
};

absl::Span<const Waveform> Waveforms();
const Waveform& WaveformOf(Metric metric);  // of a metric that the simulator makes

// "", "gpu3", "mlx5_3/1", "eth3".
std::string CounterDeviceName(CounterDevice device, int32_t index);

// The share of the interval that ends at `ms` in which a job that trains computed: samples are means over intervals.
double ComputeShare(const ActivityWindow& now, int64_t ms, int64_t interval_ms);

// The level that all machines share.
inline double CommonLevel(const Waveform& waveform, Activity now, double compute_share) {
  if (now == Activity::kPause) return waveform.pause;
  if (now == Activity::kStuck) return waveform.stuck;
  return compute_share * waveform.compute + (1 - compute_share) * waveform.communication;
}

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_WAVEFORM_H_
