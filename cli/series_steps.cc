#include "cli/series_steps.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"

namespace lockstep {

StepWindow StepsUntil(int64_t now_ns, int64_t since_ns, int64_t step_ns) {
  CHECK(step_ns > 0 && since_ns >= 0 && since_ns <= now_ns);
  const int64_t first_ns = now_ns - since_ns;
  return {first_ns - first_ns % step_ns, now_ns, step_ns};
}

std::vector<SeriesStep> CondenseToSteps(const wire::Series& series, const StepWindow& window) {
  CHECK(window.step_ns > 0 && (window.to_ns - window.from_ns) / window.step_ns <= kMaxSeriesSteps + 1);
  std::vector<SeriesStep> steps;
  int64_t samples = 0;
  for (int i = 0; i < std::min(series.wall_ns_size(), series.values_size()); ++i) {
    const int64_t at = series.wall_ns(i);
    if (at < window.from_ns || at >= window.to_ns) continue;
    const int64_t begin = at - (at - window.from_ns) % window.step_ns;
    if (steps.empty() || steps.back().wall_ns != begin) {
      steps.push_back({begin, 0});
      samples = 0;
    }
    ++samples;
    SeriesStep& step = steps.back();
    step.value += (series.values(i) - step.value) / static_cast<double>(samples);
  }
  return steps;
}

wire::Series ToRatePerSecond(const wire::Series& series) {
  wire::Series rates;
  rates.set_metric(series.metric());
  rates.set_host(series.host());
  rates.set_device(series.device());
  for (int i = 1; i < std::min(series.wall_ns_size(), series.values_size()); ++i) {
    const int64_t elapsed_ns = series.wall_ns(i) - series.wall_ns(i - 1);
    if (elapsed_ns <= 0) continue;
    const double growth = series.values(i) - series.values(i - 1);
    rates.add_wall_ns(series.wall_ns(i));
    rates.add_values((growth < 0 ? series.values(i) : growth) * kNanosPerSecond / static_cast<double>(elapsed_ns));
  }
  return rates;
}

}  // namespace lockstep
