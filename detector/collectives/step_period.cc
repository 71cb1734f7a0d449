#include "detector/collectives/step_period.h"

#include <algorithm>

namespace lockstep {

size_t SmallestPeriod(absl::Span<const uint64_t> calls, const StepPeriodOptions& options) {
  const size_t n = calls.size();
  const size_t longest = n / static_cast<size_t>(std::max(options.min_repetitions, 2));
  for (size_t period = 1; period <= longest; ++period) {
    const auto allowed = static_cast<size_t>(options.max_mismatch * static_cast<double>(n - period));
    size_t mismatches = 0;
    for (size_t i = n; i > period && mismatches <= allowed; --i) mismatches += calls[i - 1] != calls[i - 1 - period];
    if (mismatches <= allowed) return period;
  }
  return 0;
}

}  // namespace lockstep
