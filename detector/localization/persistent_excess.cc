#include "detector/localization/persistent_excess.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/types/span.h"
#include "detector/localization/order_statistics.h"
#include "detector/structure/job_change.h"

namespace lockstep {
namespace {

constexpr double kErrorOfMedian = 1.2533;  // of a normal distribution: sqrt(pi / 2)
constexpr size_t kMaxNoiseRanks = 256;     // per class
constexpr size_t kMinSpreadPeers = 8;      // fewer say nothing about how peers differ
constexpr int kRounds = 3;
constexpr double kSureShift = 6;   // standard errors of a change of level
constexpr double kMinShare = 0.5;  // of the median excess, in a step that counts as slow

struct Noise {
  double between_steps = 0;  // of one rank's excess from step to step
  double between_peers = 0;  // of the ranks' medians
};

class Search {
 public:
  Search(const OwnProfile& profile, const JobRoles& roles, const StepTable& steps, const PersistenceOptions& options)
      : profile_(profile), roles_(roles), steps_(steps), options_(options) {
    const double stretches = static_cast<double>(profile.steps * profile.steps + 1);
    const double trials = static_cast<double>(profile.ranks + 1) * stretches / options.false_suspects_per_job;
    min_significance_ = std::sqrt(2 * std::log(trials));  // tail of the normal distribution, from above
  }

  std::vector<Suspect> Run() {
    std::vector<Suspect> suspects;
    if (profile_.steps < static_cast<size_t>(kMinSuspectSteps) || steps_.usual_seconds <= 0) return suspects;
    for (const std::vector<int32_t>& peers : roles_.classes) {
      if (peers.size() < 2) continue;
      const Noise noise = NoiseOf(peers);
      for (const int32_t rank : peers) {
        Suspect suspect;
        if (!Convict(rank, noise, &suspect)) continue;
        suspect.peers = static_cast<int32_t>(peers.size()) - 1;
        suspects.push_back(suspect);
      }
    }
    std::sort(suspects.begin(), suspects.end(), [](const Suspect& a, const Suspect& b) {
      return a.excess_seconds != b.excess_seconds ? a.excess_seconds > b.excess_seconds : a.rank < b.rank;
    });
    return suspects;
  }

 private:
  Noise NoiseOf(const std::vector<int32_t>& peers) const {
    const size_t stride = std::max<size_t>(1, peers.size() / kMaxNoiseRanks);
    std::vector<double> deviations, medians, values;
    for (size_t i = 0; i < peers.size(); i += stride) {
      values.clear();
      for (const float excess : profile_.Row(profile_.excess, static_cast<size_t>(peers[i]))) {
        if (!std::isnan(excess)) values.push_back(static_cast<double>(excess));
      }
      if (values.size() < 2) continue;
      // From one step to the next: an onset in the middle of the records is one large difference among many.
      for (size_t k = 1; k < values.size(); ++k) deviations.push_back(std::abs(values[k] - values[k - 1]));
      medians.push_back(MedianInPlace(&values));
    }
    Noise noise;
    noise.between_steps = kMadToSigma * MedianInPlace(&deviations) / std::sqrt(2.0);
    if (medians.size() >= kMinSpreadPeers) {
      noise.between_peers = SigmaOfShortestHalf(&medians);
    }
    return noise;
  }

  // The stretch with the largest sum of excess above `drift`: [first, last] of known steps.
  static bool LargestStretch(absl::Span<const float> excess, double drift, size_t* first, size_t* last) {
    double best = 0, sum = 0;
    size_t start = 0;
    bool found = false;
    for (size_t step = 0; step < excess.size(); ++step) {
      if (std::isnan(excess[step])) continue;
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

  static void Known(absl::Span<const float> row, size_t first, size_t last, std::vector<double>* values) {
    values->clear();
    for (size_t step = first; step <= last; ++step) {
      if (!std::isnan(row[step])) values->push_back(static_cast<double>(row[step]));
    }
  }

  // Usual steps next to `step`, in one direction, of which nothing is known.
  int32_t UnknownBeside(absl::Span<const float> excess, size_t step, int direction) const {
    int32_t count = 0;
    for (auto at = static_cast<int64_t>(step) + direction; at >= 0 && at < steps_.steps; at += direction, ++count) {
      if (steps_.usual[static_cast<size_t>(at)] == 0 || !std::isnan(excess[static_cast<size_t>(at)])) break;
    }
    return count;
  }

  // Median of the values, or of those on the higher side of a shift of their level that is beyond doubt. In place.
  static double HigherLevel(std::vector<double>* values) {
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

  bool Convict(int32_t rank, const Noise& noise, Suspect* suspect) const {
    const absl::Span<const float> excess = profile_.Row(profile_.excess, static_cast<size_t>(rank));
    const double least = kMinShare * options_.min_cost * steps_.usual_seconds;
    const double detectable = min_significance_ * noise.between_steps / std::sqrt(static_cast<double>(excess.size()));
    size_t first = 0, last = 0;
    double drift = std::max(least, detectable) / 2;
    std::vector<double> values;
    // The stretch of what is a suspect at all, then that of half of the effect: a rank that was a little slow before
    // its fault began has its onset at the fault, however long before and however few steps ago.
    for (int round = 0; round < kRounds; ++round) {
      if (!LargestStretch(excess, drift, &first, &last)) return false;
      Known(excess, first, last, &values);
      if (values.size() < static_cast<size_t>(kMinSuspectSteps)) return false;
      drift = std::max(drift, kMinShare * HigherLevel(&values));
    }
    std::vector<double> by_step, own;
    Known(excess, first, last, &by_step);
    values = by_step;
    const double effect = MedianInPlace(&values);
    Known(profile_.Row(profile_.shared, static_cast<size_t>(rank)), first, last, &own);
    const auto strong =
        std::count_if(by_step.begin(), by_step.end(), [effect](double value) { return value >= kMinShare * effect; });
    const auto n = static_cast<double>(by_step.size());
    const double error = std::max(noise.between_steps * kErrorOfMedian / std::sqrt(n), noise.between_peers);
    suspect->rank = rank;
    suspect->first_step = static_cast<int32_t>(first);
    suspect->last_step = static_cast<int32_t>(last);
    suspect->steps = static_cast<int32_t>(by_step.size());
    suspect->unknown_before = UnknownBeside(excess, first, -1);
    suspect->unknown_after = UnknownBeside(excess, last, 1);
    suspect->excess_seconds = effect;
    suspect->own_seconds = MedianInPlace(&own);
    if (first > 0) Known(profile_.Row(profile_.shared, static_cast<size_t>(rank)), 0, first - 1, &own);
    suspect->before_seconds = first > 0 && own.size() >= kMinPastSteps ? MedianInPlace(&own) : 0;
    suspect->share_of_steps = static_cast<double>(strong) / n;
    suspect->significance = error > 0 ? effect / error : min_significance_;
    return effect >= least && suspect->significance >= min_significance_ &&
           suspect->share_of_steps >= options_.min_persistence;
  }

  const OwnProfile& profile_;
  const JobRoles& roles_;
  const StepTable& steps_;
  PersistenceOptions options_;
  double min_significance_ = 0;
};

}  // namespace

std::vector<Suspect> FindPersistentExcess(const OwnProfile& profile, const JobRoles& roles, const StepTable& steps,
                                          const PersistenceOptions& options) {
  return Search(profile, roles, steps, options).Run();
}

}  // namespace lockstep
