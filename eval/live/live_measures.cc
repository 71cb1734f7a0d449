#include "eval/live/live_measures.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/report/figures.h"

namespace lockstep {
namespace {

// A mean per episode, times `scale`, as text with its unit.
Measure FromMean(const Mean& mean, double scale, const char* unit) {
  Measure measure;
  measure.value = mean.value;
  measure.low = mean.interval.low;
  measure.high = mean.interval.high;
  measure.count = mean.count;
  measure.measured = absl::StrFormat("%.4g %s (%.4g-%.4g), n = %d", scale * mean.value, unit, scale * measure.low,
                                     scale * measure.high, mean.count);
  return measure;
}

Measure FromSpread(const Spread& spread, double value, const char* unit) {
  Measure measure;
  measure.value = measure.low = measure.high = value;
  measure.count = spread.count;
  measure.measured =
      absl::StrFormat("median %.3g %s, p95 %.3g, most %.3g", spread.median, unit, spread.p95, spread.most);
  return measure;
}

// Rates beside the delays that they are made of.
Measure Delayed(const Rate& rate, const LiveSummary& s) {
  Measure measure = MeasuredRate(rate);
  absl::StrAppendFormat(&measure.measured, "; p50 %.1f s = %.1f steps, p95 %.1f s = %.1f steps", s.named_seconds.median,
                        s.named_steps.median, s.named_seconds.p95, s.named_steps.p95);
  return measure;
}

Measure WithinMedian(const LiveSummary& s) { return Delayed(s.within_median, s); }
Measure WithinP95(const LiveSummary& s) { return Delayed(s.within_p95, s); }
Measure Top1(const LiveSummary& s) { return MeasuredRate(s.top1); }
Measure BothNamed(const LiveSummary& s) { return MeasuredRate(s.all_named); }
Measure Recall(const LiveSummary& s) { return FromMean({s.recall}, 100, "%"); }
Measure Named(const LiveSummary& s) { return MeasuredRate(s.named); }
Measure NamedAfter(const LiveSummary& s) {
  Measure measure = MeasuredRate(s.named);
  absl::StrAppendFormat(&measure.measured, "; p50 %.0f s, p95 %.0f s", s.named_seconds.median, s.named_seconds.p95);
  return measure;
}
Measure Precision(const LiveSummary& s) { return MeasuredRate(s.accused_rightly); }
Measure Agreement(const LiveSummary& s) { return MeasuredRate(s.agrees_with_file); }
Measure Unknown(const LiveSummary& s) { return FromMean(s.unknown_share, 100, "%"); }
Measure Pulled(const LiveSummary& s) { return FromMean(s.pulled_bytes, 1, "B"); }
Measure Cores(const LiveSummary& s) { return FromSpread(s.cores_per_1000, s.cores_per_1000.median, "cores"); }

Measure HangsInTime(const LiveSummary& s) {
  Measure measure = MeasuredRate(s.hang_in_time);
  absl::StrAppendFormat(&measure.measured, "; p50 %.1f s, p95 %.1f s", s.exact_seconds.median, s.exact_seconds.p95);
  return measure;
}

Measure Innocents(const LiveSummary& s) {
  Measure measure;
  measure.value = measure.low = s.innocents.per_job_hour();
  measure.high = std::max(measure.value, s.innocents.upper_per_job_hour());
  measure.count = s.episodes;
  measure.measured =
      absl::StrFormat("%d hosts in %d of %d episodes, %.2f job-hours; below %.3g an hour (95 %%)", s.innocents.accused,
                      s.innocents.episodes, s.episodes, s.innocents.job_hours, measure.high);
  return measure;
}

struct LiveMeasureRow {
  Goal goal;
  Measure (*measure)(const LiveSummary&);
  bool has_file_top1 = false;
};

constexpr const char* kMedianTarget = "half within 5 steps + 5 s";
constexpr const char* kP95Target = "95 % within 5 steps + 12 s";

const LiveMeasureRow kRows[] = {
    {{"slow-8", "live, 8 GPUs: slow device named", "", kP95Target, 0.95, true}, WithinP95},
    {{"slow-64", "live, 64 GPUs: slow device named", "", kMedianTarget, 0.5, true}, WithinMedian},
    {{"slow-64", "live, 64 GPUs: slow device named", "", kP95Target, 0.95, true}, WithinP95},
    {{"slow-64", "live, 64 GPUs: top-1", "", ">= 97 %", 0.97, true}, Top1, true},
    {{"slow-256", "live, 256 GPUs: slow device named", "", kMedianTarget, 0.5, true}, WithinMedian},
    {{"slow-256", "live, 256 GPUs: slow device named", "", kP95Target, 0.95, true}, WithinP95},
    {{"slow-256", "live, 256 GPUs: top-1", "", ">= 97 %", 0.97, true}, Top1, true},
    {{"slow-1024", "live, 1,024 GPUs: slow device named", "", kMedianTarget, 0.5, true}, WithinMedian},
    {{"slow-1024", "live, 1,024 GPUs: slow device named", "", kP95Target, 0.95, true}, WithinP95},
    {{"slow-1024", "live, 1,024 GPUs: top-1", "", ">= 97 %", 0.97, true}, Top1, true},
    {{"slow-1024", "live: bytes pulled per machine and second", "", "<= 500 B", 500, false}, Pulled},
    {{"slow-1024", "live: engine CPU for 1,000 machines", "", "<= 0.1 cores", 0.1, false}, Cores},
    {{"slow-2048", "live, 2,048 GPUs: top-1", "", ">= 97 %", 0.97, true}, Top1, true},
    {{"slow-8192", "live, 8,192 GPUs: top-1", "", ">= 95 %", 0.95, true}, Top1, true},
    {{"from-start", "live, slow from the first step on: top-1", "", ">= 97 %", 0.97, true}, Top1, true},
    {{"hangs", "live: exact set of a hang", "", "95 % within 10 s", 0.95, true}, HangsInTime},
    {{"hangs-2048", "live, 2,048 GPUs: exact set of a hang", "", "95 % within 10 s", 0.95, true}, HangsInTime},
    {{"healthy", "live: innocent hosts accused in healthy and ugly jobs", "", "0", 0, false}, Innocents},
    {{"healthy", "live: looks that say unknown while records are there", "", "0 %", 0, false}, Unknown},
    {{"healthy", "live: bytes pulled per machine and second, healthy", "", "<= 500 B", 500, false}, Pulled},
    {{"healthy", "live: engine CPU for 1,000 machines, healthy", "", "<= 0.1 cores", 0.1, false}, Cores},
    {{"hours", "live: innocent hosts accused in hours of healthy and ugly jobs", "", "0", 0, false}, Innocents},
    {{"hours", "live: bytes pulled per machine and second, mean of an hour", "", "<= 500 B", 500, false}, Pulled},
    {{"hours", "live: engine CPU for 1,000 machines, over an hour", "", "<= 0.1 cores", 0.1, false}, Cores},
    {{"two-at-once", "live, two faults at once: both named", "", ">= 95 %", 0.95, true}, BothNamed},
    {{"tenth-at-once", "live, 10 % of machines at once: recall", "", ">= 90 %", 0.90, true}, Recall},
    {{"counters", "live with counters: faults found", "", ">= 95 %", 0.95, true}, Named},
    {{"counters", "live with counters: accused hosts that are to blame", "", ">= 99 %", 0.99, true}, Precision},
    {{"counters-alone", "live, counters alone: machines found (recall)", "", ">= 90 %", 0.9, true}, NamedAfter},
    {{"counters-alone", "live, counters alone: accused hosts that are to blame", "", ">= 99 %", 0.99, true}, Precision},
    {{"counters-quiet", "live, counters alone: innocent hosts accused", "", "0", 0, false}, Innocents},
    {{"counters-alone", "live agrees with the file, counters alone", "", "all", 1, true}, Agreement},
    {{"slow-64", "live agrees with the file, slow devices", "", "all", 1, true}, Agreement},
    {{"hangs", "live agrees with the file, hangs", "", "all", 1, true}, Agreement},
    {{"healthy", "live agrees with the file, healthy and ugly jobs", "", "all", 1, true}, Agreement},
    {{"two-at-once", "live agrees with the file, two faults at once", "", "all", 1, true}, Agreement},
};

std::string FileText(const LiveSummary& summary) {
  if (summary.file_top1.trials == 0) return "";
  return absl::StrFormat("as a file: %.1f %%", 100 * summary.file_top1.share());
}

}  // namespace

std::vector<Measure> LiveMeasuresOf(const std::vector<LiveSummary>& summaries) {
  std::vector<Measure> measures;
  for (const LiveMeasureRow& row : kRows) {
    const auto summary = std::find_if(summaries.begin(), summaries.end(),
                                      [&](const LiveSummary& candidate) { return candidate.name == row.goal.suite; });
    if (summary == summaries.end()) continue;
    const Measure measure = row.measure(*summary);
    if (measure.count == 0) continue;
    measures.push_back(Judged(row.goal, measure, row.has_file_top1 ? FileText(*summary) : ""));
  }
  return measures;
}

}  // namespace lockstep
