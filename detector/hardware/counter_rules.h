// Counters and states that speak for themselves, without any peer to compare with: so many errors in so much time, a
// flag that must not be set, a bit that says why a clock is low.
//
// Thresholds of network adapters are the defaults of NVSentinel's NIC monitor; those of GPUs follow from what the
// driver documents. NVLink 5 counts as InfiniBand does: its thresholds are those of an adapter's counters of the same
// name, in a minute where that has ten seconds, since it is read more seldom. None of them is hard: a link has two
// ends, and whoever is at the other one may be the switch. Immutable; thread-safe.

#ifndef LOCKSTEP_DETECTOR_HARDWARE_COUNTER_RULES_H_
#define LOCKSTEP_DETECTOR_HARDWARE_COUNTER_RULES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "base/metric_catalog.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

enum class CounterTest : uint8_t {
  kIncrease,  // grew by more than `threshold` within `window_ns`
  kAbove,     // is above `threshold`
  kBits,      // has one of the bits of `threshold` set
  kStays,     // has been `threshold`, and nothing else, for `window_ns`
  kFell,      // is less than `threshold` of the most that it has been
};

struct CounterRule {
  Metric metric;
  CounterTest test;
  double threshold;
  int64_t window_ns;  // of kIncrease and kStays
  // True = the device is broken, whatever the job does. False = an explanation if the job is degraded, else an
  // observation.
  bool hard;
  VerdictClass verdict_class;
  const char* says;  // "lost its link"
};

// A metric may have several rules, the harder first.
absl::Span<const CounterRule> CounterRules();

// Link width or generation below what the device could do. Generation is lowered on purpose while a GPU idles, so that
// it counts only under load.
struct CeilingRule {
  Metric metric;
  Metric ceiling;
  bool only_under_load;
  VerdictClass verdict_class;
  const char* says;
};
absl::Span<const CeilingRule> CeilingRules();

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HARDWARE_COUNTER_RULES_H_
