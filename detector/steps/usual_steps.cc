#include "detector/steps/usual_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numbers>

#include "base/shares.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/regular_intervals.h"

namespace lockstep {
namespace {

constexpr double kDeviations = kSureDeviations;
// Of the median, that a usual step may always be longer.
constexpr double kAlwaysUsual = kMinorPart;
// Behind a warm-up: half of a level, since one may be quick by chance.
constexpr size_t kStepsBehind = kLevelSteps / 2;
// By which the longest of a level may exceed the shortest: as kAlwaysUsual.
constexpr double kOfOneLevel = kMinorPart;
// Of what a step is longer by, that its ranks waited: nearly all of it, but for what runs beside.
constexpr double kWaited = kMainPart;

// The longest that a step may take next to the middle of all; 0 when none is known.
double LongestUsual(absl::Span<const double> seconds) {
  std::vector<double> known;
  std::copy_if(seconds.begin(), seconds.end(), std::back_inserter(known), [](double length) { return length > 0; });
  const double median = MedianInPlace(&known);
  const double spread = SigmaInPlace(&known, median);
  return median + std::max(kDeviations * spread, kAlwaysUsual * median);
}

bool IsLevel(absl::Span<const double> run) {
  const auto [shortest, longest] = std::minmax_element(run.begin(), run.end());
  return *shortest > 0 && *longest <= (1 + kOfOneLevel) * *shortest;
}

// How much longer or shorter the next step is, in the middle.
double ChangeOfSteps(absl::Span<const double> seconds) {
  std::vector<double> changes;
  for (size_t step = 1; step < seconds.size(); ++step) {
    if (seconds[step] <= 0 || seconds[step - 1] <= 0) continue;
    changes.push_back(std::abs(seconds[step] / seconds[step - 1] - 1));
  }
  return kMadToSigma * MedianInPlace(&changes) / std::numbers::sqrt2;
}

// Those before `end` but for the first, inside of which a recording may begin, are longer than each of the next; or
// they fall from one to the other, and the last of them is longer by more than chance.
bool WarmsUpUntil(size_t end, absl::Span<const double> seconds, double change) {
  const absl::Span<const double> warm = seconds.subspan(end, kStepsBehind);
  const auto [shortest, longest] = std::minmax_element(warm.begin(), warm.end());
  const double limit = (1 + kAlwaysUsual) * *longest, least = (1 + std::max(kFew, kDeviations * change)) * *longest;
  const auto is_longer = [limit](double length) { return length > limit; };
  const absl::Span<const double> cold = seconds.subspan(1, end - 1);
  const auto longer = static_cast<size_t>(std::count_if(cold.begin(), cold.end(), is_longer));
  if (*shortest <= 0 || longer + (is_longer(seconds[0]) ? 1 : 0) >= kLevelSteps) return false;
  const bool falls = std::is_sorted(cold.begin(), cold.end(), std::greater<>()) && cold.back() > least;
  return longer == cold.size() || (longer > 0 && falls);
}

// How many of the first steps are no sign of what steps take later; a first step that is no longer counts as one.
size_t WarmUpSteps(absl::Span<const double> seconds) {
  const double change = ChangeOfSteps(seconds);
  for (size_t end = std::min(kLevelSteps, seconds.size() - std::min(kStepsBehind, seconds.size())); end > 1; --end) {
    if (WarmsUpUntil(end, seconds, change)) return end;
  }
  return 0;
}

}  // namespace

std::vector<char> FindUsualSteps(absl::Span<const double> seconds) {
  const double limit = LongestUsual(seconds);
  std::vector<char> usual;
  for (const double length : seconds) usual.push_back(length > 0 && length <= limit ? 1 : 0);
  for (size_t first = 0; first + kLevelSteps <= seconds.size(); ++first) {
    if (!IsLevel(seconds.subspan(first, kLevelSteps))) continue;
    std::fill_n(usual.begin() + static_cast<std::ptrdiff_t>(first), kLevelSteps, 1);
  }
  std::fill_n(usual.begin(), WarmUpSteps(seconds), 0);
  return usual;
}

std::vector<char> FindWaitedSteps(absl::Span<const double> seconds, absl::Span<const double> inside_seconds,
                                  absl::Span<const char> usual) {
  std::vector<double> lengths, insides;
  for (size_t step = 0; step < seconds.size(); ++step) {
    if (usual[step] == 0 || inside_seconds[step] <= 0) continue;
    lengths.push_back(seconds[step]);
    insides.push_back(inside_seconds[step]);
  }
  const double length = MedianInPlace(&lengths), inside = MedianInPlace(&insides);
  std::vector<size_t> waited;
  for (size_t step = 0; step < seconds.size() && !lengths.empty(); ++step) {
    if (usual[step] != 0 || seconds[step] <= 0 || inside_seconds[step] <= 0) continue;
    if (inside_seconds[step] - inside >= kWaited * (seconds[step] - length)) waited.push_back(step);
  }
  std::vector<char> found(seconds.size(), 0);
  if (AtEqualIntervals(waited)) return found;
  for (const size_t step : waited) found[step] = 1;
  return found;
}

}  // namespace lockstep
