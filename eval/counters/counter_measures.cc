#include "eval/counters/counter_measures.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_format.h"
#include "eval/report/figures.h"
#include "eval/scoring/confidence_interval.h"

namespace lockstep {
namespace {

Measure FromRate(const Rate& rate) {
  const Interval interval = rate.interval();
  Measure measure{.value = rate.share(), .low = interval.low, .high = interval.high, .count = rate.trials};
  measure.measured = absl::StrFormat("%.3f (%.3f-%.3f), %d of %d", rate.share(), interval.low, interval.high,
                                     rate.successes, rate.trials);
  return measure;
}

Measure Precision(const CounterMethodSummary& method) { return FromRate(method.all.precision); }
Measure Recall(const CounterMethodSummary& method) { return FromRate(method.all.recall); }

Measure F1(const CounterMethodSummary& method) {
  Measure measure{.value = method.all.f1(), .low = method.f1.low, .high = method.f1.high};
  measure.count = method.all.recall.trials;
  measure.measured =
      absl::StrFormat("%.3f (%.3f-%.3f), %d faults", measure.value, measure.low, measure.high, measure.count);
  return measure;
}

Measure Delay(const CounterMethodSummary& method) {
  const Spread& delay = method.all.delay_seconds;
  Measure measure{.value = delay.p95, .low = delay.p95, .high = delay.p95, .count = delay.count};
  measure.measured = absl::StrFormat("median %.1f s, p95 %.1f s, n = %d, %d not found", delay.median, delay.p95,
                                     delay.count, method.all.recall.trials - method.all.recall.successes);
  return measure;
}

Measure Accusations(const CounterMethodSummary& method) {
  const AccusationRate& rate = method.accusations;
  Measure measure{.value = rate.per_10000_days(), .high = rate.upper_per_10000_days()};
  measure.count = method.all.episodes;
  measure.measured = absl::StrFormat("%.3g (95 %%: below %.3g), %d in %.4g machine-days", measure.value, measure.high,
                                     rate.accusations, rate.machine_days);
  return measure;
}

struct CounterMeasureRow {
  Goal goal;
  Measure (*measure)(const CounterMethodSummary&);
};

constexpr CounterMeasureRow kRows[] = {
    {{"minder-mix", "precision, Minder's mix, 4 to 1,500 machines", "0.904 (Minder)", ">= 0.96", 0.96,
      /*at_least=*/true},
     Precision},
    {{"minder-mix", "recall, the same", "0.883 (Minder)", ">= 0.95", 0.95, /*at_least=*/true}, Recall},
    {{"minder-mix", "F1, the same", "0.893 (Minder)", ">= 0.955", 0.955, /*at_least=*/true}, F1},
    {{"gross", "onset to alarm, gross fault (p95)", "4 to 12 min (Minder)", "<= 20 s", 20, /*at_least=*/false}, Delay},
    {{"subtle", "onset to alarm, 3 sigma (p95)", "4 to 12 min (Minder)", "<= 120 s", 120, /*at_least=*/false}, Delay},
    {{"tenth-at-once", "10 % of machines at once, recall", "0.01 to 0.14 per window", ">= 0.9", 0.9, /*at_least=*/true},
     Recall},
    {{"healthy", "false accusations per 10,000 machine-days", "unreported", "<= 1", 1, /*at_least=*/false},
     Accusations},
    {{"not-faults", "the same where something else happens", "unreported", "<= 1", 1, /*at_least=*/false}, Accusations},
};

// The best of the others, by the same measure.
std::string BestOfOthers(const CounterSummary& summary, const CounterMeasureRow& row) {
  const CounterMethodSummary* best = nullptr;
  double best_value = 0;
  for (size_t i = 1; i < summary.methods.size(); ++i) {
    const Measure measure = row.measure(summary.methods[i]);
    if (measure.count == 0) continue;
    if (best != nullptr && (row.goal.at_least ? measure.value <= best_value : measure.value >= best_value)) continue;
    best = &summary.methods[i];
    best_value = measure.value;
  }
  return best == nullptr ? "" : absl::StrFormat("%.3g (%s)", best_value, best->name);
}

}  // namespace

std::vector<Measure> CounterMeasuresOf(const std::vector<CounterSummary>& summaries) {
  std::vector<Measure> measures;
  for (const CounterMeasureRow& row : kRows) {
    const auto summary = std::find_if(summaries.begin(), summaries.end(), [&](const CounterSummary& candidate) {
      return candidate.name == row.goal.suite;
    });
    if (summary == summaries.end() || summary->methods.empty()) continue;
    const Measure measure = row.measure(summary->methods.front());
    if (measure.count == 0) continue;
    measures.push_back(Judged(row.goal, measure, BestOfOthers(*summary, row)));
  }
  return measures;
}

}  // namespace lockstep
