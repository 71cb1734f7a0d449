#include "eval/report/measures.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace lockstep {
namespace {

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

Measure FromRate(const Rate& rate) {
  Measure measure;
  measure.value = rate.share();
  measure.low = rate.interval().low;
  measure.high = rate.interval().high;
  measure.count = rate.trials;
  measure.measured = absl::StrFormat("%s (%.1f-%.1f %%), %d of %d", Percent(rate.share()), 100 * measure.low,
                                     100 * measure.high, rate.successes, rate.trials);
  return measure;
}

Measure FromMean(const Mean& mean) {
  Measure measure;
  measure.value = mean.value;
  measure.low = mean.interval.low;
  measure.high = mean.interval.high;
  measure.count = mean.count;
  measure.measured = absl::StrFormat("%s (%.1f-%.1f %%), n = %d", Percent(mean.value), 100 * measure.low,
                                     100 * measure.high, mean.count);
  return measure;
}

Measure FromSeconds(const Spread& spread) {
  Measure measure;
  measure.value = measure.low = measure.high = spread.p95;
  measure.count = spread.count;
  measure.measured = absl::StrFormat("median %.2f s, p95 %.2f s, most %.2f s", spread.median, spread.p95, spread.most);
  return measure;
}

Measure FromSteps(const Spread& spread) {
  Measure measure;
  measure.value = measure.low = measure.high = spread.p95;
  measure.count = spread.count;
  measure.measured = absl::StrFormat("median %.0f, p95 %.0f, most %.0f", spread.median, spread.p95, spread.most);
  return measure;
}

// Episodes in which somebody without blame was accused: the count is what is promised.
Measure FromAccusations(const Rate& rate) {
  Measure measure = FromRate(rate);
  measure.value = static_cast<double>(rate.successes);
  measure.measured =
      absl::StrFormat("%d of %d episodes (95 %%: below %.2f %%)", rate.successes, rate.trials, 100 * measure.high);
  return measure;
}

std::string BestBaseline(const SuiteSummary& summary, double (*value)(const BaselineRow&), bool most) {
  const BaselineRow* best = nullptr;
  for (const BaselineRow& row : summary.baselines) {
    if (!most && !row.accuses) continue;
    if (best == nullptr || (most ? value(row) > value(*best) : value(row) < value(*best))) best = &row;
  }
  return best == nullptr ? "" : absl::StrCat(Percent(value(*best)), " (", best->name, ")");
}

double Top1(const BaselineRow& row) { return row.top1.share(); }
double Recall(const BaselineRow& row) { return row.recall.value; }
double Innocents(const BaselineRow& row) { return row.accuses_innocents.share(); }

struct MeasureRow {
  absl::string_view suite;
  absl::string_view name;
  absl::string_view published;
  absl::string_view target;
  Measure (*measure)(const SuiteSummary&);
  bool at_least;  // met when the value is at least the bar; else at most
  double bar;
  double (*baseline)(const BaselineRow&);  // nullptr = none is comparable
};

constexpr MeasureRow kRows[] = {
    {"localize-2048", "top-1 localization, 2,048 GPUs", "97.2 % (Holmes)", ">= 98 %",
     [](const SuiteSummary& s) { return FromRate(s.top1); }, true, 0.98, Top1},
    {"localize-8192", "top-1 localization, 8,192 GPUs", "88.2 % (Holmes)", ">= 96 %",
     [](const SuiteSummary& s) { return FromRate(s.top1); }, true, 0.96, Top1},
    {"localize-8192", "records to verdict, 8,192 GPUs (p95)", "30.3 s (Holmes)", "<= 3 s",
     [](const SuiteSummary& s) { return FromSeconds(s.diagnose_seconds); }, false, 3, nullptr},
    {"localize-80000", "records to verdict, 80,000 GPUs (p95)", "none", "<= 10 s",
     [](const SuiteSummary& s) { return FromSeconds(s.diagnose_seconds); }, false, 10, nullptr},
    {"slow-compute", "compute >= 10 % slow: steps to verdict (p95)", "50 (EROICA)", "<= 5",
     [](const SuiteSummary& s) { return FromSteps(s.steps_to_verdict); }, false, 5, nullptr},
    {"hangs", "hang: culprit set within 10 s of the onset", "90 % within 15 s (Mycroft)", ">= 95 %",
     [](const SuiteSummary& s) { return FromRate(s.soon_enough); }, true, 0.95, nullptr},
    {"hangs", "hang: exact culprit set", "unreported", ">= 99 %",
     [](const SuiteSummary& s) { return FromRate(s.exact_set); }, true, 0.99, nullptr},
    {"innocent", "innocent machine or link accused", "unreported", "0 of 1,000",
     [](const SuiteSummary& s) { return FromAccusations(s.accuses_innocents); }, false, 0, Innocents},
    {"two-at-once", "two faults at once, both named", "unreported", ">= 95 %",
     [](const SuiteSummary& s) { return FromRate(s.all_named); }, true, 0.95, nullptr},
    {"tenth-at-once", "10 % of machines at once, recall", "about 0", ">= 90 %",
     [](const SuiteSummary& s) { return FromMean(s.recall); }, true, 0.90, Recall},
    {"classes", "class accuracy over the 24 rows, macro", "6 classes (CCL-D)", ">= 92 %",
     [](const SuiteSummary& s) { return FromMean(s.macro_class); }, true, 0.92, nullptr},
};

}  // namespace

std::vector<Measure> MeasuresOf(const std::vector<SuiteSummary>& summaries) {
  std::vector<Measure> measures;
  for (const MeasureRow& row : kRows) {
    const auto summary = std::find_if(summaries.begin(), summaries.end(),
                                      [&](const SuiteSummary& candidate) { return candidate.name == row.suite; });
    if (summary == summaries.end()) continue;
    Measure measure = row.measure(*summary);
    if (measure.count == 0) continue;
    measure.name = std::string(row.name);
    measure.published = std::string(row.published);
    measure.target = std::string(row.target);
    measure.met = row.at_least ? measure.value >= row.bar : measure.value <= row.bar;
    if (row.baseline != nullptr)
      measure.best_baseline = BestBaseline(*summary, row.baseline, row.baseline != Innocents);
    measures.push_back(std::move(measure));
  }
  return measures;
}

}  // namespace lockstep
