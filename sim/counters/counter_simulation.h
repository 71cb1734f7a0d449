// Counter histories of the machines of one job: a waveform that all share, each machine's own level, jitter, bursts,
// holes, and what faults add.
//
// Fast gauges and counters are sampled at CounterSpec::interval_ms, slow ones (temperature, link width, error counts)
// every kSlowFactor intervals. Samples of a series rise in time except that a duplicated one repeats its time. Same
// arguments, same bytes. Memory: 16 bytes per sample; 50 fast series and 50 slow ones per host of eight GPUs. Pure;
// thread-safe.

#ifndef LOCKSTEP_SIM_COUNTERS_COUNTER_SIMULATION_H_
#define LOCKSTEP_SIM_COUNTERS_COUNTER_SIMULATION_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "base/random.h"
#include "detector/model/metric_table.h"
#include "sim/counters/counter_spec.h"

namespace lockstep {

inline constexpr int32_t kSlowFactor = 15;

// "node-00000": as the simulator calls the hosts of a job.
std::string CounterHostName(int32_t host);

MetricTable SimulateCounters(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed);

// A fault of Minder's mix on a machine drawn from `random`, beginning at a moment of the middle half of the history and
// lasting from four minutes to its end.
CounterFault RandomMinderFault(const CounterSpec& spec, Random& random);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_COUNTER_SIMULATION_H_
