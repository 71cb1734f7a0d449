// How often a metric is sampled, told from a few samples of each of its series.
//
// Pure. Cost: O(values).

#ifndef LOCKSTEP_DETECTOR_COUNTERS_SAMPLING_INTERVAL_H_
#define LOCKSTEP_DETECTOR_COUNTERS_SAMPLING_INTERVAL_H_

#include <cstdint>
#include <vector>

namespace lockstep {

// The lower one of two; 0 of none.
int64_t MiddleInterval(std::vector<int64_t> values);

// Nobody samples a fleet more often; what does is averaged.
inline constexpr int64_t kShortestIntervalMs = 100;
// Of a metric that is sampled once.
inline constexpr int64_t kUnknownIntervalMs = 1'000;

// The interval that was configured, of one that was measured: samplers are set to round times, and late by little.
int64_t ConfiguredInterval(int64_t measured_ms);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_SAMPLING_INTERVAL_H_
