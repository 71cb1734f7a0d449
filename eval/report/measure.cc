#include "eval/report/measure.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace lockstep {

Measure MeasuredRate(const Rate& rate) {
  Measure measure;
  measure.value = rate.share();
  measure.low = rate.interval().low;
  measure.high = rate.interval().high;
  measure.count = rate.trials;
  measure.measured = absl::StrFormat("%.1f %% (%.1f-%.1f %%), %d of %d", 100 * rate.share(), 100 * measure.low,
                                     100 * measure.high, rate.successes, rate.trials);
  return measure;
}

Measure Judged(const Goal& goal, Measure measured, std::string best_baseline) {
  measured.name = std::string(goal.name);
  measured.published = std::string(goal.published);
  measured.target = std::string(goal.target);
  measured.best_baseline = std::move(best_baseline);
  measured.met = goal.IsMetBy(measured.value);
  return measured;
}

}  // namespace lockstep
