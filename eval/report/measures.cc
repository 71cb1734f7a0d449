#include "eval/report/measures.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/report/figures.h"

namespace lockstep {
namespace {

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

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

// The most, since that is what has to fit.
Measure FromBytes(const Spread& spread) {
  Measure measure;
  measure.value = measure.low = measure.high = spread.most;
  measure.count = spread.count;
  measure.measured = absl::StrFormat("median %.1f MB, most %.1f MB", spread.median / 1e6, spread.most / 1e6);
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
  Measure measure = MeasuredRate(rate);
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
  Goal goal;
  Measure (*measure)(const SuiteSummary&);
  double (*baseline)(const BaselineRow&);  // nullptr = none is comparable
};

constexpr MeasureRow kRows[] = {
    {{"localize-2048", "top-1 localization, 2,048 GPUs", "97.2 % (Holmes)", ">= 98 %", 0.98, /*at_least=*/true},
     [](const SuiteSummary& s) { return MeasuredRate(s.top1); },
     Top1},
    {{"localize-8192", "top-1 localization, 8,192 GPUs", "88.2 % (Holmes)", ">= 96 %", 0.96, /*at_least=*/true},
     [](const SuiteSummary& s) { return MeasuredRate(s.top1); },
     Top1},
    {{"localize-8192", "records to verdict, 8,192 GPUs (p95)", "30.3 s (Holmes)", "<= 3 s", 3, /*at_least=*/false},
     [](const SuiteSummary& s) { return FromSeconds(s.diagnose_seconds); },
     nullptr},
    {{"pulls-8192", "bytes pulled per localization, 8,192 GPUs (most)", "0.84 GB (Holmes)", "<= 50 MB", 50e6,
      /*at_least=*/false},
     [](const SuiteSummary& s) { return FromBytes(s.pulled_bytes); },
     nullptr},
    {{"pulls-8192", "the same: top-1 localization", "88.2 % (Holmes)", ">= 96 %", 0.96, /*at_least=*/true},
     [](const SuiteSummary& s) { return MeasuredRate(s.top1); },
     nullptr},
    {{"localize-80000", "records to verdict, 80,000 GPUs (p95)", "none", "<= 10 s", 10, /*at_least=*/false},
     [](const SuiteSummary& s) { return FromSeconds(s.diagnose_seconds); },
     nullptr},
    {{"slow-compute", "compute >= 10 % slow: steps to verdict (p95)", "50 (EROICA)", "<= 5", 5, /*at_least=*/false},
     [](const SuiteSummary& s) { return FromSteps(s.steps_to_verdict); },
     nullptr},
    {{"hangs", "hang: culprit set within 10 s of the onset", "90 % within 15 s (Mycroft)", ">= 95 %", 0.95,
      /*at_least=*/true},
     [](const SuiteSummary& s) { return MeasuredRate(s.soon_enough); },
     nullptr},
    {{"hangs", "hang: exact culprit set at the newest look", "unreported", ">= 99 %", 0.99, /*at_least=*/true},
     [](const SuiteSummary& s) { return MeasuredRate(s.exact_when_looked); },
     nullptr},
    {{"innocent", "innocent machine or link accused", "unreported", "0 of 1,000", 0, /*at_least=*/false},
     [](const SuiteSummary& s) { return FromAccusations(s.accuses_innocents); },
     Innocents},
    {{"two-at-once", "two faults at once, both named", "unreported", ">= 95 %", 0.95, /*at_least=*/true},
     [](const SuiteSummary& s) { return MeasuredRate(s.all_named); },
     nullptr},
    {{"tenth-at-once", "10 % of machines at once, recall", "about 0", ">= 90 %", 0.90, /*at_least=*/true},
     [](const SuiteSummary& s) { return FromMean(s.recall); },
     Recall},
    {{"classes", "class accuracy over the 24 rows, macro", "6 classes (CCL-D)", ">= 92 %", 0.92, /*at_least=*/true},
     [](const SuiteSummary& s) { return FromMean(s.macro_class); },
     nullptr},
};

}  // namespace

std::vector<Measure> MeasuresOf(const std::vector<SuiteSummary>& summaries) {
  std::vector<Measure> measures;
  for (const MeasureRow& row : kRows) {
    const auto summary = std::find_if(summaries.begin(), summaries.end(),
                                      [&](const SuiteSummary& candidate) { return candidate.name == row.goal.suite; });
    if (summary == summaries.end()) continue;
    const Measure measure = row.measure(*summary);
    if (measure.count == 0) continue;
    const std::string best =
        row.baseline == nullptr ? "" : BestBaseline(*summary, row.baseline, row.baseline != Innocents);
    measures.push_back(Judged(row.goal, measure, best));
  }
  return measures;
}

}  // namespace lockstep
