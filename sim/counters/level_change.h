// What faults and oddities do to one series: by how much its level changes, from when to when.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_SIM_COUNTERS_LEVEL_CHANGE_H_
#define LOCKSTEP_SIM_COUNTERS_LEVEL_CHANGE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sim/counters/counter_effects.h"
#include "sim/counters/counter_spec.h"
#include "sim/counters/waveform.h"

namespace lockstep {

struct LevelChange {
  Metric metric = Metric::kUnspecified;
  int32_t host = -1;    // -1 = all
  int32_t device = -1;  // of the host; -1 = all
  EffectMode mode = EffectMode::kScale;
  double amount = 1;
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
  int64_t ramp_ms = 0;
};

// Of all faults and oddities of the spec, in their order.
std::vector<LevelChange> DrawChanges(const CounterSpec& spec, absl::Span<const CounterFault> faults, uint64_t seed);

// Those of `changes` that touch this series.
std::vector<LevelChange> ChangesOn(absl::Span<const LevelChange> changes, int32_t host, int32_t device, Metric metric);

// The level at `ms`, one change after the other.
double Changed(double level, absl::Span<const LevelChange> changes, int64_t ms);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_LEVEL_CHANGE_H_
