#include "detector/structure/job_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "base/shares.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/regular_intervals.h"
#include "detector/stats/robust.h"

namespace lockstep {
namespace {

// As many steps as a suspect needs (persistent_excess.h).
constexpr size_t kMinSide = 4;
constexpr double kMinSignificance = kSureDeviations;
constexpr double kRanksAgree = kNearlyAll;
// A first step longer than so many typical ones. By judgement, not measured.
constexpr double kWarmUp = 1.2;
// Deviations of the change from step to step: 6 in 100,000 of a normal lie beyond.
constexpr double kSpike = 4;
// Four for each of the four terms of the curve.
constexpr size_t kMinDriftSteps = 16;
// Beyond it something happened. By judgement, not measured.
constexpr double kMaxDrift = 0.3;
// From the lowest to the highest point of the curve. By judgement, not measured.
constexpr double kMinDrift = 0.01;
// F statistic of the curve against a constant: one in 700 at 3 and 12 degrees of freedom.
constexpr double kMinDriftF = 10;
// Before and in its first step a job compiles and warms up, and a recording may begin inside of that step.
constexpr size_t kFirstPauseStep = 2;
// Of a typical step: a pause is nearer to one than to none.
constexpr double kMinPauseSteps = kMainPart;
// Of which so much is idle on all ranks: the main part.
constexpr double kPauseShared = kMainPart;
// By judgement, not measured.
constexpr double kEqualPauses = 0.3;

// The steps that tell: index and common mode, without the warm-up and unknown ones.
struct Series {
  std::vector<size_t> step;
  std::vector<double> value;
};

Series Telling(const StepProfile& profile) {
  const std::vector<double> common = CommonMode(profile);
  Series series;
  for (size_t step = 0; step < common.size(); ++step) {
    // A recording may begin inside of a step.
    const bool whole = common[step] >= kMinorPart && common[step] <= kWarmUp;
    if (std::isnan(common[step]) || (series.step.empty() && !whole)) continue;
    series.step.push_back(step);
    series.value.push_back(common[step]);
  }
  series.value = WithoutSpikes(series.value);
  return series;
}

// Least squares of a cubic over the series: the fitted values. Normal equations in Legendre-like powers of x in [-1,
// 1].
std::vector<double> FitCubic(absl::Span<const double> series) {
  constexpr size_t kTerms = 4;  // of a cubic
  std::array<std::array<double, kTerms + 1>, kTerms> system{};
  const auto term = [&](size_t i, size_t power) {
    const double x = series.size() < 2 ? 0 : 2.0 * static_cast<double>(i) / static_cast<double>(series.size() - 1) - 1;
    const std::array<double, kTerms> value{1, x, 1.5 * x * x - 0.5, 2.5 * x * x * x - 1.5 * x};
    return value[power];
  };
  for (size_t i = 0; i < series.size(); ++i) {
    for (size_t r = 0; r < kTerms; ++r) {
      for (size_t c = 0; c < kTerms; ++c) system[r][c] += term(i, r) * term(i, c);
      system[r][kTerms] += term(i, r) * series[i];
    }
  }
  for (size_t pivot = 0; pivot < kTerms; ++pivot) {  // near-orthogonal terms: no exchange of rows is needed
    for (size_t r = 0; r < kTerms; ++r) {
      if (r == pivot) continue;
      const double factor = system[r][pivot] / system[pivot][pivot];
      for (size_t c = pivot; c <= kTerms; ++c) system[r][c] -= factor * system[pivot][c];
    }
  }
  std::vector<double> fitted(series.size(), 0);
  for (size_t i = 0; i < series.size(); ++i) {
    for (size_t r = 0; r < kTerms; ++r) fitted[i] += term(i, r) * system[r][kTerms] / system[r][r];
  }
  return fitted;
}

double SquaresLeft(absl::Span<const double> series, absl::Span<const double> fitted) {
  double left = 0;
  for (size_t i = 0; i < series.size(); ++i) left += (series[i] - fitted[i]) * (series[i] - fitted[i]);
  return left;
}

// Least squares of values, as shares of their mean, over a curve: 1 = they follow it.
double SlopeOver(absl::Span<const double> curve, absl::Span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double middle = std::accumulate(curve.begin(), curve.end(), 0.0) / n;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double together = 0, squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    together += (curve[i] - middle) * (values[i] / mean - 1);
    squares += (curve[i] - middle) * (curve[i] - middle);
  }
  return squares > 0 && mean > 0 ? together / squares : 0;
}

// Share of the ranks whose own time made at least half of the shift at the same step.
double RanksThatShifted(const StepProfile& profile, size_t first_step, double ratio) {
  size_t known = 0;
  size_t shifted = 0;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    std::vector<double> before;
    std::vector<double> after;
    for (size_t step = 0; step < profile.steps; ++step) {
      const float own = profile.OwnOf(rank)[step];
      if (!std::isnan(own)) (step < first_step ? before : after).push_back(static_cast<double>(own));
    }
    if (before.empty() || after.empty()) continue;
    ++known;
    if (LowerMedianOrNan(std::move(after)) >= (1 + (ratio - 1) / 2) * LowerMedianOrNan(std::move(before))) ++shifted;
  }
  return known == 0 ? 0 : static_cast<double>(shifted) / static_cast<double>(known);
}

// Share of the ranks whose own time follows a curve of the common mode, by half of it or more: `fitted` by telling
// step.
double RanksThatFollow(const StepProfile& profile, const Series& series, absl::Span<const double> fitted) {
  size_t known = 0;
  size_t follow = 0;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    std::vector<double> own, curve;
    for (size_t i = 0; i < series.step.size(); ++i) {
      const float value = profile.OwnOf(rank)[series.step[i]];
      if (std::isnan(value)) continue;
      own.push_back(static_cast<double>(value));
      curve.push_back(fitted[i]);
    }
    if (own.size() < kMinDriftSteps) continue;
    ++known;
    if (SlopeOver(curve, own) >= kMainPart) ++follow;
  }
  return known == 0 ? 0 : static_cast<double>(follow) / static_cast<double>(known);
}

// Breaks that come back at equal intervals, or that are of equal length, are planned.
bool IsSchedule(const std::vector<size_t>& at, const std::vector<double>& seconds) {
  if (at.size() < 2) return false;
  const double typical = LowerMedianOrNan(seconds);
  const bool alike = std::all_of(seconds.begin(), seconds.end(),
                                 [&](double s) { return std::abs(s - typical) <= kEqualPauses * typical; });
  return alike || AtEqualIntervals(at);
}

}  // namespace

std::vector<double> CommonMode(const StepProfile& profile) {
  std::vector<double> middle(profile.ranks());
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    const absl::Span<const float> own = profile.OwnOf(rank);
    middle[rank] = LowerMedianOrNan(Known(std::vector<double>(own.begin(), own.end())));
  }
  std::vector<double> common(profile.steps);
  for (size_t step = 0; step < profile.steps; ++step) {
    std::vector<double> ratios;
    for (size_t rank = 0; rank < profile.ranks(); ++rank) {
      const double own = static_cast<double>(profile.OwnOf(rank)[step]);
      if (!std::isnan(own) && middle[rank] > 0) ratios.push_back(own / middle[rank]);
    }
    common[step] = LowerMedianOrNan(std::move(ratios));
  }
  return common;
}

std::vector<double> WithoutSpikes(const std::vector<double>& series) {
  std::vector<double> changes;
  for (size_t i = 1; i < series.size(); ++i) changes.push_back(series[i] - series[i - 1]);
  const double limit = kSpike * RobustDeviation(changes);
  std::vector<double> smooth = series;
  for (size_t i = 1; i + 1 < series.size(); ++i) {
    const double middle = LowerMedianOrNan({series[i - 1], series[i], series[i + 1]});
    if (std::abs(series[i] - middle) > limit) smooth[i] = middle;
  }
  return smooth;
}

LevelShift FindLevelShift(absl::Span<const double> series, size_t min_side) {
  LevelShift best;
  const size_t n = series.size();
  if (n < 2 * min_side) return best;
  double total = 0;
  double squares = 0;
  for (const double value : series) {
    total += value;
    squares += value * value;
  }
  double before = 0;
  double least = squares - total * total / static_cast<double>(n);
  for (size_t i = 0; i < n; ++i) {
    const auto count = static_cast<double>(i);
    const double after = total - before;
    if (i >= min_side && n - i >= min_side) {
      const double left = squares - before * before / count - after * after / (static_cast<double>(n) - count);
      if (left < least || best.at == 0) {
        least = left;
        best.at = i;
        best.before = before / count;
        best.after = after / (static_cast<double>(n) - count);
      }
    }
    before += series[i];
  }
  best.left = std::max(0.0, least);
  const double a = static_cast<double>(best.at);
  const double b = static_cast<double>(n) - a;
  const double error = std::sqrt(best.left / static_cast<double>(n - 2) * (1 / a + 1 / b));
  best.significance = error > 0 ? std::abs(best.after - best.before) / error : HUGE_VAL;
  return best;
}

std::vector<StructuralFinding> FindRegression(const StepProfile& profile, double min_gain) {
  const Series series = Telling(profile);
  const LevelShift shift = FindLevelShift(series.value, kMinSide);
  if (shift.at == 0 || shift.after <= shift.before || shift.significance < kMinSignificance) return {};
  const double gain = 1 - shift.before / shift.after;
  if (gain < min_gain || SquaresLeft(series.value, FitCubic(series.value)) < shift.left) return {};
  const size_t first_step = series.step[shift.at];
  const double agree = RanksThatShifted(profile, first_step, shift.after / shift.before);
  if (agree < kRanksAgree) return {};
  return {{.verdict_class = VerdictClass::kJobRegression,
           .first_step = static_cast<int64_t>(first_step),
           .last_step = static_cast<int64_t>(profile.steps) - 1,
           .gain = gain,
           .reason = LongerEverywhere{
               .first_step = first_step, .growth = shift.after / shift.before - 1, .rank_share = agree}}};
}

std::vector<StructuralFinding> FindDrift(const StepProfile& profile) {
  const Series series = Telling(profile);
  const size_t n = series.value.size();
  if (n < kMinDriftSteps) return {};
  const std::vector<double> fitted = FitCubic(series.value);
  double sum = 0;
  for (const double value : series.value) sum += value;
  const std::vector<double> constant(n, sum / static_cast<double>(n));
  const double left = SquaresLeft(series.value, fitted);
  const double explained = SquaresLeft(series.value, constant) - left;
  const double f = left > 0 ? (explained / 3) / (left / static_cast<double>(n - 4)) : 0;
  const auto [low, high] = std::minmax_element(fitted.begin(), fitted.end());
  const double range = *high - *low;
  if (f < kMinDriftF || range < kMinDrift || range > kMaxDrift) return {};
  if (RanksThatFollow(profile, series, fitted) < kRanksAgree) return {};
  const double mean = constant[0];
  return {{.verdict_class = VerdictClass::kDrift,
           .first_step = static_cast<int64_t>(series.step.front()),
           .last_step = static_cast<int64_t>(series.step.back()),
           .gain = std::max(0.0, 1 - *low / mean),
           .reason = SlowDrift{.range = range}}};
}

std::vector<StructuralFinding> FindPauses(const StepProfile& profile, double min_gain) {
  const double typical = LowerMedianOrNan(Known(profile.step_seconds));
  if (std::isnan(typical) || typical <= 0) return {};
  const std::vector<double> common = CommonMode(profile);
  std::vector<double> own;
  for (size_t rank = 0; rank < profile.ranks(); ++rank) {
    for (const float value : profile.OwnOf(rank)) {
      if (!std::isnan(value)) own.push_back(static_cast<double>(value));
    }
  }
  const double typical_own = LowerMedianOrNan(std::move(own));
  std::vector<size_t> at;
  std::vector<double> seconds;
  double total = 0;
  for (size_t step = 0; step < profile.steps; ++step) {
    const double length = step < profile.step_seconds.size() ? profile.step_seconds[step] : typical;
    const double before = step < profile.pause_seconds.size() ? profile.pause_seconds[step] : 0;
    if (!std::isnan(length)) total += length;
    if (!std::isnan(before)) total += before;
    const double inside = std::isnan(length) ? 0 : length - typical;
    const double shared = std::isnan(common[step]) ? 0 : (common[step] - 1) * typical_own;
    const double pause = (std::isnan(before) ? 0 : before) + (shared >= kPauseShared * inside ? inside : 0);
    if (step < kFirstPauseStep || pause < kMinPauseSteps * typical) continue;
    at.push_back(step);
    seconds.push_back(pause);
  }
  if (at.empty()) return {};
  double lost = 0;
  for (const double pause : seconds) lost += pause;
  const bool planned = IsSchedule(at, seconds);
  if (planned && lost < min_gain * total) return {};
  return {{.verdict_class = VerdictClass::kPause,
           .first_step = static_cast<int64_t>(at.front()),
           .last_step = static_cast<int64_t>(at.back()),
           .gain = lost / total,
           .seconds = lost / static_cast<double>(profile.steps),
           .steps_affected = static_cast<double>(at.size()) / static_cast<double>(profile.steps - at.front()),
           .reason = CommonPause{.seconds = planned ? LowerMedianOrNan(seconds) : seconds[0],
                                 .step = at[0],
                                 .more = at.size() - 1,
                                 .planned = planned},
           .planned = planned}};
}

}  // namespace lockstep
