#include "detector/engine/time_ledger.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/stats/level_apart.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/regular_intervals.h"
#include "detector/stats/two_levels.h"
#include "detector/structure/job_change.h"
#include "detector/verdict/abstention.h"
#include "detector/verdict/ledger_line.h"
#include "detector/verdict/network_reasons.h"
#include "detector/verdict/trace_names.h"

namespace lockstep {
namespace {

constexpr size_t kMinPast = 4;                        // usual steps: as many as a suspect needs
constexpr size_t kMinLevel = 3;                       // the fewest of which a median leaves one out
constexpr double kMinSignificance = kSureDeviations;  // of a change of level, as in job_change.h
// Of what was lost: more than half, so that two findings cannot both be the main one.
constexpr double kExplained = kMainPart;
constexpr int64_t kOnsetSteps = 2;  // an onset is known to a step on both sides
// Of the steps: what hardly any take is not what a step needs, but a piece of one.
constexpr double kLeastNormal = kMinorPart;
// Where all steps since are longer: one may be the end of a recording.
constexpr size_t kMinAtEnd = 2;
// Of a cost, that a reader would notice.
constexpr double kWorthSaying = kFew;

// Of steps whose length is known.
struct Series {
  std::vector<int32_t> step;
  std::vector<double> seconds;
};

template <typename Counts>
Series StepsThat(const StepTable& steps, Counts counts) {
  Series series;
  for (int32_t step = 0; step < steps.steps; ++step) {
    const auto at = static_cast<size_t>(step);
    if (!counts(at) || steps.step_seconds[at] <= 0) continue;
    series.step.push_back(step);
    series.seconds.push_back(steps.step_seconds[at]);
  }
  return series;
}

bool IsWaited(const StepTable& steps, size_t step) { return step < steps.waited.size() && steps.waited[step] != 0; }

Series UsualSteps(const StepTable& steps) {
  return StepsThat(steps, [&](size_t step) { return steps.usual[step] != 0; });
}

// Transfers stood still in it: longer than usual, from the first such step to the last.
bool IsStalled(const StepTable& steps, const std::vector<Verdict>& verdicts, size_t step) {
  return steps.step_seconds[step] > steps.usual_seconds &&
         std::any_of(verdicts.begin(), verdicts.end(), [step](const Verdict& verdict) {
           const auto* stalled = FindReason<StalledTransfers>(verdict);
           return stalled != nullptr && static_cast<int64_t>(step) >= stalled->first_step &&
                  static_cast<int64_t>(step) <= stalled->last_step;
         });
}

Series AllThatCount(const StepTable& steps, const std::vector<Verdict>& verdicts) {
  return StepsThat(steps, [&](size_t step) {
    return steps.usual[step] != 0 || IsWaited(steps, step) || IsStalled(steps, verdicts, step);
  });
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double ErrorOf(std::vector<double> values) {
  const double middle = MedianInPlace(&values);
  return ErrorOfMiddle(&values, middle);
}

LongerWork FindWhoWorksLonger(const TraceAnalysis& analysis, const StepShift& shift) {
  LongerWork work{.ranks = analysis.profile.ranks};
  size_t most_rank = 0;
  for (size_t rank = 0; rank < analysis.profile.ranks; ++rank) {
    std::vector<double> usual, longer;
    const absl::Span<const float> own = analysis.profile.Row(analysis.profile.own, rank);
    for (int32_t step = 0; step < analysis.steps.steps; ++step) {
      const auto seconds = static_cast<double>(own[static_cast<size_t>(step)]);
      if (!std::isnan(seconds)) (shift.Has(analysis.steps, step) ? longer : usual).push_back(seconds);
    }
    const double grown = MedianInPlace(&longer) - MedianInPlace(&usual);
    work.longer_ranks += grown >= (shift.after_seconds - shift.before_seconds) / 2 ? 1 : 0;
    if (grown <= work.most_seconds) continue;
    work.most_seconds = grown;
    most_rank = rank;
  }
  if (work.longer_ranks > 0) work.most_grown = NameOf(*analysis.trace, static_cast<int32_t>(most_rank));
  return work;
}

// Share of the usual steps since the onset of a finding.
double ShareSince(const Series& series, int64_t first_step) {
  const auto since =
      std::count_if(series.step.begin(), series.step.end(), [first_step](int32_t step) { return step >= first_step; });
  return static_cast<double>(since) / static_cast<double>(series.step.size());
}

// All steps since one.
std::optional<StepShift> FindLevel(const Series& series, double min_gain) {
  std::vector<double> levels = WithoutSpikes(series.seconds);
  if (levels.size() > 1) levels[0] = levels[1];  // a recording may begin inside of its first step
  const LevelShift split = FindLevelShift(levels, kMinLevel);
  if (split.at == 0 || split.significance < kMinSignificance) return std::nullopt;
  const auto at = series.seconds.begin() + static_cast<std::ptrdiff_t>(split.at);
  std::vector<double> before(series.seconds.begin(), at), after(at, series.seconds.end());
  StepShift shift{.first_step = series.step[split.at], .error_seconds = std::hypot(ErrorOf(before), ErrorOf(after))};
  shift.before_seconds = MedianInPlace(&before);
  shift.after_seconds = MedianInPlace(&after);
  if (shift.lost_seconds() < min_gain * shift.after_seconds) return std::nullopt;
  return shift;
}

size_t LeastNormal(size_t steps) { return static_cast<size_t>(std::ceil(kLeastNormal * static_cast<double>(steps))); }

// Of lengths in rising order, the first that is longer than usual, be it of a second level or of many; 0 = none. A few
// that are far longer still are no level of their own.
size_t FirstLonger(absl::Span<const double> rising, size_t least) {
  const TwoLevels levels = SplitTwoLevels(rising);
  const bool two =
      levels.higher - levels.lower > kMinSignificance * levels.within && rising.size() - levels.at >= kMinPast;
  return two ? levels.at : FirstApart(rising, least, kMinPast);
}

// Some steps, not at equal intervals, and not the first ones.
std::optional<StepShift> FindLongerOnes(const Series& series, double min_gain) {
  std::vector<double> rising = series.seconds;
  std::sort(rising.begin(), rising.end());
  const size_t least = std::max(kMinPast, LeastNormal(rising.size()));
  const size_t at = FirstLonger(rising, least);
  if (at < least || rising.size() - at < kMinPast) return std::nullopt;
  const double longest_usual = rising[at - 1];
  std::vector<size_t> longer;
  size_t since = 0;  // usual steps from the first of them on
  for (size_t i = 0; i < series.step.size(); ++i) {
    if (series.seconds[i] > longest_usual) longer.push_back(static_cast<size_t>(series.step[i]));
    since += longer.empty() ? 0 : 1;
  }
  if (longer.size() < kMinPast || AtEqualIntervals(longer)) return std::nullopt;
  // The first steps, and no others: the job became quicker.
  if (longer.back() == static_cast<size_t>(series.step[longer.size() - 1])) return std::nullopt;
  const auto split = rising.begin() + static_cast<std::ptrdiff_t>(at);
  std::vector<double> lower(rising.begin(), split), higher(split, rising.end());
  StepShift shift{.first_step = static_cast<int32_t>(longer.front()),
                  .share = static_cast<double>(longer.size()) / static_cast<double>(since)};
  shift.error_seconds = shift.share * std::hypot(ErrorOf(lower), ErrorOf(higher));
  shift.before_seconds = MedianInPlace(&lower);
  shift.after_seconds = MedianInPlace(&higher);
  if (!shift.in_some_steps() || shift.lost_seconds() < min_gain * shift.mean_seconds()) return std::nullopt;
  return shift;
}

// Of a line, what removing this one alone gives back.
double LeftAlone(const LedgerLine& line, const std::vector<Remedy>& remedies, const Verdict& verdict) {
  const auto remedy = std::find_if(remedies.begin(), remedies.end(), [&](const Remedy& one) {
    return one.replayed && one.finding == line.finding && one.culprits == verdict.culprits;
  });
  if (remedy == remedies.end() || line.seconds <= 0) return 1;
  const double left = remedy->alone_seconds / line.seconds;
  return left > 1 - kWorthSaying ? 1 : left;
}

}  // namespace

std::optional<StepShift> FindLongerSteps(const StepTable& steps, double min_gain) {
  const Series series = UsualSteps(steps);
  const std::optional<StepShift> level = FindLevel(series, min_gain);
  return level.has_value() ? level : FindLongerOnes(series, min_gain);
}

std::optional<StepShift> FindFewWaited(const StepTable& steps, double min_gain) {
  const Series usual = UsualSteps(steps);
  Series waited = StepsThat(steps, [&](size_t step) { return IsWaited(steps, step); });
  if (waited.step.empty() || usual.step.size() < kMinPast) return std::nullopt;
  const int32_t first = waited.step.front();
  const auto beside = usual.step.end() - std::lower_bound(usual.step.begin(), usual.step.end(), first);
  const auto longer = static_cast<double>(waited.step.size());
  StepShift shift{.first_step = first, .share = longer / (longer + static_cast<double>(beside))};
  shift.error_seconds = shift.share * ErrorOf(usual.seconds);
  std::vector<double> others = usual.seconds;
  shift.before_seconds = MedianInPlace(&others);
  shift.after_seconds = MedianInPlace(&waited.seconds);
  if (!shift.in_some_steps() && waited.step.size() < kMinAtEnd) return std::nullopt;
  if (shift.lost_seconds() < min_gain * shift.mean_seconds()) return std::nullopt;
  return shift;
}

bool CostsSteps(const Verdict& verdict) {
  const bool of_pauses = verdict.verdict_class == VerdictClass::kPause || FindReason<LateReturn>(verdict) != nullptr;
  return !of_pauses && verdict.cost.slowdown_fraction > 0 && verdict.cost.slowdown_fraction < 1;
}

TimeLedger BuildLedger(const StepTable& steps, const std::vector<Verdict>& verdicts,
                       const std::optional<StepShift>& shift, Together together) {
  TimeLedger ledger;
  const Series series = AllThatCount(steps, verdicts);
  if (series.step.size() < kMinPast) return ledger;
  ledger.measured_seconds = MeanOf(series.seconds);
  // The past ends with the first onset that leaves one.
  int64_t onset = shift.has_value() ? shift->first_step : steps.steps;
  const auto past_before = [&series](int64_t step) {
    return static_cast<size_t>(std::lower_bound(series.step.begin(), series.step.end(), step) - series.step.begin());
  };
  for (const Verdict& verdict : verdicts) {
    if (CostsSteps(verdict) && past_before(verdict.first_step) >= kMinPast) onset = std::min(onset, verdict.first_step);
  }
  double explained = 0, of_past = 0;
  for (const Verdict& verdict : verdicts) {
    if (!CostsSteps(verdict)) continue;
    const double seconds = verdict.cost.seconds_per_step * ShareSince(series, verdict.first_step);
    ledger.lines.push_back({FindingName(verdict), seconds});
    explained += seconds;
    if (verdict.first_step < onset) of_past += seconds;
  }
  const size_t past = past_before(onset);
  if (shift.has_value() && shift->in_some_steps()) {
    ledger.reference_seconds = std::max(0.0, std::min(shift->before_seconds, ledger.measured_seconds) - of_past);
    ledger.error_seconds = shift->error_seconds;
  } else if (onset >= steps.steps || past < kMinPast) {
    explained = std::min(explained, ledger.measured_seconds);
    if (ledger.lines.size() > 1) explained = std::min(explained, together(ledger.lines));
    ledger.reference_seconds = ledger.measured_seconds - explained;
    ledger.error_seconds = ErrorOf(series.seconds);
  } else {
    const auto end = series.seconds.begin() + static_cast<std::ptrdiff_t>(past);
    std::vector<double> before(series.seconds.begin(), end);
    ledger.error_seconds = std::hypot(ErrorOf(before), ErrorOf({end, series.seconds.end()}));
    ledger.reference_seconds = std::max(0.0, MedianInPlace(&before) - of_past);
  }
  const double lost = std::max(0.0, ledger.measured_seconds - ledger.reference_seconds);
  double sum = 0;
  for (const LedgerLine& line : ledger.lines) sum += line.seconds;
  ledger.scale = sum > lost ? lost / sum : 1;
  for (LedgerLine& line : ledger.lines) line.seconds *= ledger.scale;
  ledger.unexplained_seconds = ledger.measured_seconds - ledger.reference_seconds - std::min(sum, lost);
  return ledger;
}

void ShareCosts(const TimeLedger& ledger, std::vector<Verdict>* verdicts) {
  for (Verdict& verdict : *verdicts) {
    if (!CostsSteps(verdict)) continue;
    verdict.cost.slowdown_fraction *= ledger.scale;
    verdict.cost.seconds_per_step *= ledger.scale;
  }
}

void HideCosts(const TimeLedger& ledger, const std::vector<Remedy>& remedies, std::vector<Verdict>* verdicts) {
  size_t line = 0;
  for (Verdict& verdict : *verdicts) {
    if (!CostsSteps(verdict)) continue;
    Cost& cost = verdict.cost;
    const double left = LeftAlone(ledger.lines[line++], remedies, verdict);
    const double part = cost.slowdown_fraction;
    cost.slowdown_fraction = part * left;
    cost.hidden_fraction = part - cost.slowdown_fraction;
    cost.seconds_per_step *= left;
    if (ledger.scale * left > 1 - kWorthSaying) continue;
    verdict.evidence.push_back(
        {EvidenceKind::kWhatIf,
         SharedCost{.now_share = cost.slowdown_fraction, .beside_share = part / ledger.scale, .part_share = part}});
  }
}

double UnexplainedSeconds(const StepShift& shift, const std::vector<Verdict>& verdicts, double min_gain) {
  double explained = 0;
  for (const Verdict& verdict : verdicts) {
    // What was there before made no step longer.
    const bool since = verdict.first_step + kOnsetSteps >= shift.first_step;
    if (since && CostsSteps(verdict)) explained += verdict.cost.seconds_per_step;
  }
  const double unexplained = shift.lost_seconds() - explained;
  const double least = std::max(
      {(1 - kExplained) * shift.lost_seconds(), min_gain * shift.mean_seconds(), kSureErrors * shift.error_seconds});
  return unexplained < least ? 0 : unexplained;
}

std::optional<Verdict> SlowForUnknownReason(const TraceAnalysis& analysis, const StepShift& shift,
                                            const std::vector<Verdict>& verdicts, double min_gain) {
  const double unexplained = UnexplainedSeconds(shift, verdicts, min_gain);
  if (unexplained <= 0) return std::nullopt;
  Verdict verdict = Verdict::Abstention(SlowWithoutCause{.first_step = shift.first_step,
                                                         .before_seconds = shift.before_seconds,
                                                         .after_seconds = shift.after_seconds,
                                                         .unexplained_seconds = unexplained,
                                                         .error_seconds = shift.error_seconds,
                                                         .share = shift.share});
  verdict.Add(FindWhoWorksLonger(analysis, shift));
  verdict.Add(CausesRuledOut{});
  verdict.first_step = shift.first_step;
  verdict.last_step = analysis.steps.steps - 1;
  return verdict;
}

}  // namespace lockstep
