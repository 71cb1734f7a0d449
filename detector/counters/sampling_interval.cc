#include "detector/counters/sampling_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "base/median.h"

namespace lockstep {
namespace {

// The intervals to which agents, DCGM's and node exporters and Prometheus are set by default or by their manuals.
constexpr int64_t kRoundMs[] = {100,    200,    250,    500,    1000,   2000,    5000,
                                10'000, 15'000, 20'000, 30'000, 60'000, 120'000, 300'000};
// A measured interval so near to a round one is that one: the least of two intervals of samplers that jitter by 200 ms
// in 5 s, or by 40 ms in 1 s, is off by less. Half of the least distance between two round ones would be 10 %.
constexpr double kRoundTolerance = 0.05;
constexpr int64_t kSecondMs = 1000;

}  // namespace

int64_t MiddleInterval(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  // Mostly all are the same, which needs no sorting.
  if (std::count(values.begin(), values.end(), values.front()) * 2 > static_cast<ptrdiff_t>(values.size())) {
    return values.front();
  }
  return LowerMedian(&values);
}

int64_t ConfiguredInterval(int64_t measured_ms) {
  if (measured_ms <= 0) return kUnknownIntervalMs;
  const auto near = std::min_element(std::begin(kRoundMs), std::end(kRoundMs), [measured_ms](int64_t a, int64_t b) {
    return std::abs(a - measured_ms) < std::abs(b - measured_ms);
  });
  const auto off = static_cast<double>(std::abs(*near - measured_ms));
  if (off <= kRoundTolerance * static_cast<double>(*near)) return *near;
  // Whoever sets another one sets whole seconds.
  const int64_t whole_ms = (measured_ms + kSecondMs / 2) / kSecondMs * kSecondMs;
  const auto off_whole = static_cast<double>(std::abs(whole_ms - measured_ms));
  if (off_whole <= kRoundTolerance * static_cast<double>(whole_ms)) return whole_ms;
  return std::max(kShortestIntervalMs, measured_ms);
}

}  // namespace lockstep
