#include "detector/slow/persistent_excess.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/slow/excess_stretch.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

// Of the median excess, in a step that counts as slow: nearer to it than to none.
constexpr double kMinShare = kMainPart;
// Standard errors, the usual 5 %.
constexpr double kErrorsAllowed = 2;

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
      for (const int32_t rank : peers) {
        Suspect suspect;
        if (!Convict(rank, &suspect)) continue;
        suspects.push_back(suspect);
      }
    }
    SortByExcess(&suspects);
    return suspects;
  }

  void LookBesideTransfers(const std::vector<SlowTransfers>& transfers, std::vector<Suspect>* suspects) {
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

  // Of its peers in these steps, once for all of them.
  const ExcessNoise& NoiseAmongPeersOf(int32_t rank, size_t first, size_t last) {
    const auto row = static_cast<size_t>(rank);
    const auto [known, is_new] = noise_.try_emplace({roles_.class_of_rank[row], first, last});
    if (is_new) known->second = NoiseOf(profile_, roles_.PeersOf(row), first, last);
    return known->second;
  }
  const ExcessNoise& NoiseAmongPeersOf(int32_t rank) { return NoiseAmongPeersOf(rank, 0, profile_.steps - 1); }

  Suspect Measure(int32_t rank, const ExcessNoise& noise, size_t first, size_t last) const {
    const auto row = static_cast<size_t>(rank);
    const absl::Span<const float> excess = profile_.Row(profile_.excess, row);
    ExcessStretch stretch = LookAt(profile_, row, first, last);
    std::vector<double> values, own;
    for (const size_t step : stretch.telling) {
      values.push_back(static_cast<double>(excess[step]));
      own.push_back(static_cast<double>(profile_.Row(profile_.shared, row)[step]));
    }
    Suspect suspect{.rank = rank, .first_step = static_cast<int32_t>(first), .last_step = static_cast<int32_t>(last)};
    suspect.excess_seconds = MedianInPlace(&values);
    suspect.own_seconds = MedianInPlace(&own);
    suspect.before_seconds = SecondsBefore(profile_, row, first);
    suspect.unknown_before = UnknownBeside(profile_, steps_, row, first, -1);
    suspect.unknown_after = UnknownBeside(profile_, steps_, row, last, 1);
    suspect.steps = static_cast<int32_t>(stretch.known.size());
    suspect.peers = static_cast<int32_t>(roles_.PeersOf(row).size()) - 1;
    const auto is_slow = [&](size_t step) {
      return static_cast<double>(excess[step]) >= kMinShare * suspect.excess_seconds;
    };
    const auto slow = std::count_if(stretch.known.begin(), stretch.known.end(), is_slow);
    const auto healthy = static_cast<std::ptrdiff_t>(stretch.telling.size()) -
                         std::count_if(stretch.telling.begin(), stretch.telling.end(), is_slow);
    suspect.share_of_steps = static_cast<double>(slow) / std::max(1.0, static_cast<double>(slow + healthy));
    suspect.significance = Significance(suspect, noise);
    return suspect;
  }

  double Significance(const Suspect& suspect, const ExcessNoise& noise) const {
    const double of_median = noise.between_steps * kErrorOfMedian / std::sqrt(static_cast<double>(suspect.steps));
    const double error = std::max(of_median, noise.between_peers);
    return error > 0 ? suspect.excess_seconds / error : min_significance_;
  }

  bool Convict(int32_t rank, Suspect* suspect) {
    const ExcessNoise& noise = NoiseAmongPeersOf(rank);
    size_t first = 0, last = 0;
    const double detectable = min_significance_ * noise.between_steps / std::sqrt(static_cast<double>(profile_.steps));
    const double least = std::max(Least(), detectable) / 2;
    if (!FindStretch(profile_, static_cast<size_t>(rank), least, &first, &last)) return false;
    *suspect = Measure(rank, noise, first, last);
    if (suspect->excess_seconds < Least() || suspect->significance < min_significance_ ||
        suspect->share_of_steps < LeastShareOfSteps(noise, *suspect)) {
      return false;
    }
    suspect->significance =
        std::min(suspect->significance, Significance(*suspect, NoiseAmongPeersOf(rank, first, last)));
    return suspect->significance >= min_significance_;
  }

  // Noise alone takes some steps of a persistent excess below half of it: as many as of a normal one, and two standard
  // errors more, are not held against it.
  double LeastShareOfSteps(const ExcessNoise& noise, const Suspect& suspect) const {
    if (noise.between_steps <= 0) return options_.min_persistence;
    const double deviations = (1 - kMinShare) * suspect.excess_seconds / noise.between_steps;
    const double expected = std::erfc(-deviations / std::sqrt(2.0)) / 2;
    const double error = std::sqrt(expected * (1 - expected) / static_cast<double>(std::max(1, suspect.steps)));
    return std::min(options_.min_persistence, expected - kErrorsAllowed * error);
  }

  bool ConvictBeside(const SlowTransfers& slow, double min_significance, Suspect* suspect) {
    const int32_t rank = slow.ranks.front();
    const ExcessNoise& noise = NoiseAmongPeersOf(rank);
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
  std::map<std::tuple<int32_t, size_t, size_t>, ExcessNoise> noise_;  // by class, first and last step
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
