// What a fault does to the counters of its machine: an "or" of indicators, never all of them at once.
//
// Minder's lesson (arXiv 2411.01791, section 2.3): no counter shows every fault and hardly a fault shows in one counter
// only. The probabilities here are ours; only the mix of kinds is published. Pure; thread-safe.

#ifndef LOCKSTEP_SIM_COUNTERS_COUNTER_EFFECTS_H_
#define LOCKSTEP_SIM_COUNTERS_COUNTER_EFFECTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/metric_catalog.h"
#include "sim/counters/counter_spec.h"
#include "sim/fault_spec.h"

namespace lockstep {

enum class EffectMode : uint8_t {
  kScale,  // the value (or rate) is multiplied by the amount
  kAdd,    // the amount is added: to a gauge as it is, to a counter per second
  kSet,    // the value is the amount
};

struct CounterEffect {
  FaultKind kind;
  Metric metric;
  EffectMode mode;
  double least;  // the amount is drawn between these two
  double most;
  double probability;  // that this fault shows here
  bool whole_host;     // all devices of the host instead of one
};

// The effects of all kinds.
absl::Span<const CounterEffect> EffectTable();

// An effect with its amount.
struct DrawnEffect {
  const CounterEffect* effect = nullptr;
  double amount = 0;
};

// The indicators in which this very fault shows: at least one where the kind has any. Depends on the seed and on what
// `which` says of the fault.
std::vector<DrawnEffect> DrawEffects(const CounterFault& fault, uint64_t seed, uint64_t which);

// Kinds and shares of Minder's faults. Shares add up to 1.
absl::Span<const MinderFault> MinderMix();

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_COUNTER_EFFECTS_H_
