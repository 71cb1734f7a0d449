#include "detector/slow/excess_stretch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/stats/order_statistics.h"
#include "detector/structure/job_change.h"

namespace lockstep {
namespace {

// Of ranks and steps, per class: a budget of memory, 16 MB. Below it all ranks count, whatever their numbers.
constexpr size_t kMaxNoiseValues = size_t{1} << 21;
// Of fewer a deviation is wrong by a quarter and more, and says nothing about how peers differ.
constexpr size_t kMinSpreadPeers = 8;
// Bound of the work.
constexpr int kRounds = 3;
constexpr double kSureShift = kSureDeviations;  // standard errors of a change of level
// Of the median excess, in a step that counts as slow: nearer to it than to none.
constexpr double kMinShare = kMainPart;

// The stretch with the largest sum of excess above `drift`: [first, last] of known steps. Steps with lost records
// that are not slow say nothing.
bool LargestStretch(const OwnProfile& profile, size_t rank, double drift, size_t* first, size_t* last) {
  const absl::Span<const float> excess = profile.Row(profile.excess, rank);
  double best = 0, sum = 0;
  size_t start = 0;
  bool found = false;
  for (size_t step = 0; step < excess.size(); ++step) {
    if (std::isnan(excess[step])) continue;
    if (!profile.Complete(rank, step) && static_cast<double>(excess[step]) < drift) continue;
    if (sum <= 0) {
      sum = 0;
      start = step;
    }
    sum += static_cast<double>(excess[step]) - drift;
    if (sum <= best) continue;
    best = sum;
    *first = start;
    *last = step;
    found = true;
  }
  return found;
}

// Median of the values, or of those on the higher side of a shift of their level that is beyond doubt. In place.
double HigherLevel(std::vector<double>* values) {
  const LevelShift shift = FindLevelShift(*values, static_cast<size_t>(kMinSuspectSteps));
  if (shift.at > 0 && shift.significance >= kSureShift) {
    const auto at = values->begin() + static_cast<std::ptrdiff_t>(shift.at);
    if (shift.after > shift.before) {
      values->erase(values->begin(), at);
    } else {
      values->erase(at, values->end());
    }
  }
  return MedianInPlace(values);
}

}  // namespace

ExcessNoise NoiseOf(const OwnProfile& profile, const std::vector<int32_t>& peers, size_t first, size_t last) {
  const size_t stride = 1 + peers.size() * (last + 1 - first) / kMaxNoiseValues;
  std::vector<double> deviations, medians, values;
  for (size_t i = 0; i < peers.size(); i += stride) {
    values.clear();
    const absl::Span<const float> row = profile.Row(profile.excess, static_cast<size_t>(peers[i]));
    for (const float excess : row.subspan(first, last + 1 - first)) {
      if (!std::isnan(excess)) values.push_back(static_cast<double>(excess));
    }
    if (values.size() < 2) continue;
    // From one step to the next: an onset in the middle of the records is one large difference among many.
    for (size_t k = 1; k < values.size(); ++k) deviations.push_back(std::abs(values[k] - values[k - 1]));
    medians.push_back(MedianInPlace(&values));
  }
  ExcessNoise noise;
  noise.between_steps = kMadToSigma * MedianInPlace(&deviations) / std::sqrt(2.0);
  if (medians.size() >= kMinSpreadPeers) {
    noise.between_peers = SigmaOfShortestHalf(&medians);
  }
  return noise;
}

int32_t UnknownBeside(const OwnProfile& profile, const StepTable& steps, size_t rank, size_t step, int direction) {
  const absl::Span<const float> excess = profile.Row(profile.excess, rank);
  int32_t count = 0;
  for (auto at = static_cast<int64_t>(step) + direction; at >= 0 && at < steps.steps; at += direction, ++count) {
    const auto beside = static_cast<size_t>(at);
    if (steps.usual[beside] == 0 || (!std::isnan(excess[beside]) && profile.Complete(rank, beside))) break;
  }
  return count;
}

ExcessStretch LookAt(const OwnProfile& profile, size_t rank, size_t first, size_t last) {
  const absl::Span<const float> excess = profile.Row(profile.excess, rank);
  ExcessStretch stretch;
  for (size_t step = first; step <= last; ++step) {
    if (std::isnan(excess[step])) continue;
    stretch.known.push_back(step);
    if (profile.Complete(rank, step)) stretch.telling.push_back(step);
  }
  if (stretch.telling.size() < static_cast<size_t>(kMinSuspectSteps)) stretch.telling = stretch.known;
  return stretch;
}

bool FindStretch(const OwnProfile& profile, size_t rank, double least, size_t* first, size_t* last) {
  const absl::Span<const float> excess = profile.Row(profile.excess, rank);
  double drift = least;
  for (int round = 0; round < kRounds; ++round) {
    if (!LargestStretch(profile, rank, drift, first, last)) return false;
    const ExcessStretch stretch = LookAt(profile, rank, *first, *last);
    if (stretch.known.size() < static_cast<size_t>(kMinSuspectSteps)) return false;
    std::vector<double> values;
    for (const size_t step : stretch.telling) values.push_back(static_cast<double>(excess[step]));
    drift = std::max(drift, kMinShare * HigherLevel(&values));
  }
  return true;
}

}  // namespace lockstep
