#include "detector/slow/persistent_excess.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/stats/order_statistics.h"
#include "detector/structure/job_change.h"

namespace lockstep {
namespace {

// Per class: a budget of time; a median of so many is known to a thirteenth of their spread.
constexpr size_t kMaxNoiseRanks = 256;
// Of fewer a deviation is wrong by a quarter and more, and says nothing about how peers differ.
constexpr size_t kMinSpreadPeers = 8;
// Bound of the work.
constexpr int kRounds = 3;
constexpr double kSureShift = kSureDeviations;  // standard errors of a change of level
// Of the median excess, in a step that counts as slow: nearer to it than to none.
constexpr double kMinShare = kMainPart;
// Standard errors, the usual 5 %.
constexpr double kErrorsAllowed = 2;

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
        suspects.push_back(suspect);
      }
    }
    SortByExcess(&suspects);
    return suspects;
  }

  void LookBesideTransfers(const std::vector<SlowTransfers>& transfers, std::vector<Suspect>* suspects) const {
    const double trials = static_cast<double>(transfers.size()) / options_.false_suspects_per_job;
    for (const SlowTransfers& slow : transfers) {
      if (slow.ranks.size() != 1 || roles_.PeersOf(static_cast<size_t>(slow.ranks.front())).size() < 2) continue;
      const auto known = std::find_if(suspects->begin(), suspects->end(),
                                      [&slow](const Suspect& suspect) { return suspect.rank == slow.ranks.front(); });
      if (known != suspects->end() && known->first_step <= slow.first_step + kSameOnsetSteps) continue;
      Suspect beside;
      if (!ConvictBeside(slow, std::sqrt(2 * std::log(trials)), &beside)) continue;
      if (known == suspects->end()) {
        suspects->push_back(beside);
      } else if (beside.excess_seconds >= kMinShare * known->excess_seconds) {
        *known = beside;
      }
    }
    SortByExcess(suspects);
  }

 private:
  static void SortByExcess(std::vector<Suspect>* suspects) {
    std::sort(suspects->begin(), suspects->end(), [](const Suspect& a, const Suspect& b) {
      return a.excess_seconds != b.excess_seconds ? a.excess_seconds > b.excess_seconds : a.rank < b.rank;
    });
  }

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

  // The stretch with the largest sum of excess above `drift`: [first, last] of known steps. Steps with lost records
  // that are not slow say nothing.
  bool LargestStretch(size_t rank, double drift, size_t* first, size_t* last) const {
    const absl::Span<const float> excess = profile_.Row(profile_.excess, rank);
    double best = 0, sum = 0;
    size_t start = 0;
    bool found = false;
    for (size_t step = 0; step < excess.size(); ++step) {
      if (std::isnan(excess[step])) continue;
      if (!profile_.Complete(rank, step) && static_cast<double>(excess[step]) < drift) continue;
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

  // Usual steps next to `step`, in one direction, of which nothing is known, or too little to tell.
  int32_t UnknownBeside(size_t rank, size_t step, int direction) const {
    const absl::Span<const float> excess = profile_.Row(profile_.excess, rank);
    int32_t count = 0;
    for (auto at = static_cast<int64_t>(step) + direction; at >= 0 && at < steps_.steps; at += direction, ++count) {
      const auto beside = static_cast<size_t>(at);
      if (steps_.usual[beside] == 0 || (!std::isnan(excess[beside]) && profile_.Complete(rank, beside))) break;
    }
    return count;
  }

  // Where records are lost, a slow rank's own time is a lower bound: a step of it that is slow counts, one that is not
  // says nothing. So the level is that of the steps of which no record is lost, where these are not too few.
  struct Stretch {
    std::vector<size_t> known;
    std::vector<size_t> telling;  // of these, the complete ones, or all
  };
  Stretch LookAt(size_t rank, size_t first, size_t last) const {
    const absl::Span<const float> excess = profile_.Row(profile_.excess, rank);
    Stretch stretch;
    for (size_t step = first; step <= last; ++step) {
      if (std::isnan(excess[step])) continue;
      stretch.known.push_back(step);
      if (profile_.Complete(rank, step)) stretch.telling.push_back(step);
    }
    if (stretch.telling.size() < static_cast<size_t>(kMinSuspectSteps)) stretch.telling = stretch.known;
    return stretch;
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

  // The stretch of what is a suspect at all, then that of half of the effect: a rank that was a little slow before its
  // fault began has its onset at the fault, however long before and however few steps ago.
  bool FindStretch(int32_t rank, const Noise& noise, size_t* first, size_t* last) const {
    const absl::Span<const float> excess = profile_.Row(profile_.excess, static_cast<size_t>(rank));
    const double detectable = min_significance_ * noise.between_steps / std::sqrt(static_cast<double>(excess.size()));
    double drift = std::max(Least(), detectable) / 2;
    std::vector<double> values;
    for (int round = 0; round < kRounds; ++round) {
      if (!LargestStretch(static_cast<size_t>(rank), drift, first, last)) return false;
      Known(excess, *first, *last, &values);
      if (values.size() < static_cast<size_t>(kMinSuspectSteps)) return false;
      drift = std::max(drift, kMinShare * HigherLevel(&values));
    }
    return true;
  }

  Suspect Measure(int32_t rank, const Noise& noise, size_t first, size_t last) const {
    const auto row = static_cast<size_t>(rank);
    const absl::Span<const float> excess = profile_.Row(profile_.excess, row);
    Stretch stretch = LookAt(row, first, last);
    std::vector<double> values, own;
    for (const size_t step : stretch.telling) {
      values.push_back(static_cast<double>(excess[step]));
      own.push_back(static_cast<double>(profile_.Row(profile_.shared, row)[step]));
    }
    Suspect suspect{.rank = rank, .first_step = static_cast<int32_t>(first), .last_step = static_cast<int32_t>(last)};
    suspect.excess_seconds = MedianInPlace(&values);
    suspect.own_seconds = MedianInPlace(&own);
    suspect.before_seconds = SecondsBefore(profile_, row, first);
    suspect.unknown_before = UnknownBeside(row, first, -1);
    suspect.unknown_after = UnknownBeside(row, last, 1);
    suspect.steps = static_cast<int32_t>(stretch.known.size());
    suspect.peers = static_cast<int32_t>(roles_.PeersOf(row).size()) - 1;
    const auto is_slow = [&](size_t step) {
      return static_cast<double>(excess[step]) >= kMinShare * suspect.excess_seconds;
    };
    const auto slow = std::count_if(stretch.known.begin(), stretch.known.end(), is_slow);
    const auto healthy = static_cast<std::ptrdiff_t>(stretch.telling.size()) -
                         std::count_if(stretch.telling.begin(), stretch.telling.end(), is_slow);
    suspect.share_of_steps = static_cast<double>(slow) / std::max(1.0, static_cast<double>(slow + healthy));
    const auto n = static_cast<double>(stretch.known.size());
    const double error = std::max(noise.between_steps * kErrorOfMedian / std::sqrt(n), noise.between_peers);
    suspect.significance = error > 0 ? suspect.excess_seconds / error : min_significance_;
    return suspect;
  }

  bool Convict(int32_t rank, const Noise& noise, Suspect* suspect) const {
    size_t first = 0, last = 0;
    if (!FindStretch(rank, noise, &first, &last)) return false;
    *suspect = Measure(rank, noise, first, last);
    return suspect->excess_seconds >= Least() && suspect->significance >= min_significance_ &&
           suspect->share_of_steps >= LeastShareOfSteps(noise, *suspect);
  }

  // Noise alone takes some steps of a persistent excess below half of it: as many as of a normal one, and two standard
  // errors more, are not held against it.
  double LeastShareOfSteps(const Noise& noise, const Suspect& suspect) const {
    if (noise.between_steps <= 0) return options_.min_persistence;
    const double deviations = (1 - kMinShare) * suspect.excess_seconds / noise.between_steps;
    const double expected = std::erfc(-deviations / std::sqrt(2.0)) / 2;
    const double error = std::sqrt(expected * (1 - expected) / static_cast<double>(std::max(1, suspect.steps)));
    return std::min(options_.min_persistence, expected - kErrorsAllowed * error);
  }

  bool ConvictBeside(const SlowTransfers& slow, double min_significance, Suspect* suspect) const {
    const int32_t rank = slow.ranks.front();
    const Noise noise = NoiseOf(roles_.PeersOf(static_cast<size_t>(rank)));
    *suspect = Measure(rank, noise, static_cast<size_t>(slow.first_step), profile_.steps - 1);
    const double grown =
        suspect->before_seconds > 0 ? suspect->own_seconds - suspect->before_seconds : suspect->excess_seconds;
    return suspect->steps >= kMinSuspectSteps && suspect->share_of_steps > kMinShare &&
           suspect->significance >= min_significance && suspect->excess_seconds >= kMinShare * Least() &&
           grown >= kMinShare * suspect->excess_seconds;
  }

  double Least() const { return kMinShare * options_.min_cost * steps_.usual_seconds; }

  const OwnProfile& profile_;
  const JobRoles& roles_;
  const StepTable& steps_;
  PersistenceOptions options_;
  double min_significance_ = 0;
};

}  // namespace

double SecondsBefore(const OwnProfile& profile, size_t rank, size_t first_step) {
  std::vector<double> peers, shares;
  for (size_t step = 0; step < first_step; ++step) {
    const auto own = static_cast<double>(profile.Row(profile.shared, rank)[step]);
    const double of_peers = own - static_cast<double>(profile.Row(profile.excess, rank)[step]);
    if (!(of_peers > 0)) continue;
    peers.push_back(of_peers);
    shares.push_back(own / of_peers);
  }
  return peers.size() < kMinPastSteps ? 0 : MedianInPlace(&shares) * MedianInPlace(&peers);
}

std::vector<Suspect> FindPersistentExcess(const OwnProfile& profile, const JobRoles& roles, const StepTable& steps,
                                          const PersistenceOptions& options) {
  return Search(profile, roles, steps, options).Run();
}

void AddSlowBesideTransfers(const OwnProfile& profile, const JobRoles& roles, const StepTable& steps,
                            const PersistenceOptions& options, const std::vector<SlowTransfers>& transfers,
                            std::vector<Suspect>* suspects) {
  Search(profile, roles, steps, options).LookBesideTransfers(transfers, suspects);
}

}  // namespace lockstep
