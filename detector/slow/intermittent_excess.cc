#include "detector/slow/intermittent_excess.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "detector/stats/order_statistics.h"
#include "detector/stats/two_levels.h"

namespace lockstep {
namespace {

constexpr double kMinSeparation = kSureDeviations;  // normal noise exceeds it in one step of 1e9
// Budget of time; a quantile of so many is known to a sixteenth.
constexpr size_t kMaxComparedPeers = 256;
// Slow steps than those of a known stretch. By judgement, not measured.
constexpr double kFarMore = 1.5;
// With fewer, nobody knows which of two is slow and which is quick.
constexpr size_t kMinPeers = 3;
// Of the peers, whose own slow steps may belong to the same fault (a room, a rack) and say nothing about chance. As
// counterfactual_gain.h.
constexpr double kMostAtOnce = 0.15;

class Search {
 public:
  Search(const OwnProfile& profile, const StepTable& steps, const PersistenceOptions& options)
      : profile_(profile), steps_(steps), options_(options) {}

  void Run(const std::vector<int32_t>& peers, std::vector<Suspect>* suspects) {
    if (peers.size() < kMinPeers + 1) return;
    noise_ = NoiseBetweenSteps(peers);
    std::vector<Suspect> found;
    for (const int32_t rank : peers) {
      Suspect suspect;
      if (Look(rank, peers, &suspect)) found.push_back(suspect);
    }
    for (const Suspect& suspect : found) Admit(suspect, suspects);
  }

 private:
  bool Tells(size_t rank, size_t step) const {
    return !std::isnan(profile_.Row(profile_.excess, rank)[step]) && profile_.Complete(rank, step);
  }

  double ExcessAt(size_t rank, size_t step) const {
    return static_cast<double>(profile_.Row(profile_.excess, rank)[step]);
  }

  // From one step to the next, so that levels do not count.
  double NoiseBetweenSteps(const std::vector<int32_t>& peers) const {
    std::vector<double> changes;
    const size_t stride = std::max<size_t>(1, peers.size() / kMaxComparedPeers);
    for (size_t i = 0; i < peers.size(); i += stride) {
      const auto rank = static_cast<size_t>(peers[i]);
      for (size_t step = 1; step < profile_.steps; ++step) {
        if (!Tells(rank, step) || !Tells(rank, step - 1)) continue;
        changes.push_back(std::abs(ExcessAt(rank, step) - ExcessAt(rank, step - 1)));
      }
    }
    return kMadToSigma * MedianInPlace(&changes) / std::sqrt(2.0);
  }

  bool Look(int32_t rank, const std::vector<int32_t>& peers, Suspect* suspect) const {
    const auto row = static_cast<size_t>(rank);
    std::vector<double> values;
    for (size_t step = 0; step < profile_.steps; ++step) {
      if (Tells(row, step)) values.push_back(ExcessAt(row, step));
    }
    std::sort(values.begin(), values.end());
    const TwoLevels levels = SplitTwoLevels(values);
    const size_t slow = values.size() - levels.at;
    if (levels.at < static_cast<size_t>(kMinSuspectSteps) || slow < static_cast<size_t>(kMinSuspectSteps)) return false;
    if (levels.higher - levels.lower < kMinSeparation * noise_ || levels.middle() <= 0) return false;
    *suspect = Measure(rank, levels.middle());
    suspect->peers = static_cast<int32_t>(peers.size()) - 1;
    if (suspect->share_of_steps >= options_.min_persistence)
      return false;  // one that stays: persistent_excess.h judges
    const double effect = suspect->share_of_steps * suspect->excess_seconds;
    if (effect < options_.min_cost / 2 * steps_.usual_seconds) return false;
    const double surprisal = LogBinomialTail(slow, values.size(), RateOfPeers(rank, peers, levels.middle()));
    // Every rank could have been the one, at every level.
    const double trials = static_cast<double>(profile_.ranks) * static_cast<double>(values.size());
    const double log_chance = std::log(options_.false_suspects_per_job / trials);
    suspect->significance = std::sqrt(std::max(0.0, -2 * surprisal));  // tail of the normal distribution
    return surprisal < log_chance;
  }

  // Share of the steps of peers that reach a level: of those, but the few that reach it most often.
  double RateOfPeers(int32_t rank, const std::vector<int32_t>& peers, double level) const {
    struct Count {
      size_t hits = 0;
      size_t steps = 0;
    };
    std::vector<Count> counts;
    const size_t stride = std::max<size_t>(1, peers.size() / kMaxComparedPeers);
    for (size_t i = 0; i < peers.size(); i += stride) {
      if (peers[i] == rank) continue;
      const auto row = static_cast<size_t>(peers[i]);
      Count& count = counts.emplace_back();
      for (size_t step = 0; step < profile_.steps; ++step) {
        if (!Tells(row, step)) continue;
        ++count.steps;
        count.hits += ExcessAt(row, step) >= level;
      }
    }
    std::sort(counts.begin(), counts.end(), [](const Count& a, const Count& b) {
      return a.hits * std::max<size_t>(1, b.steps) < b.hits * std::max<size_t>(1, a.steps);
    });
    const auto left_out = static_cast<size_t>(kMostAtOnce * static_cast<double>(counts.size()));
    size_t hits = 1, all = 1;
    for (size_t i = 0; i + left_out < counts.size(); ++i) {
      hits += counts[i].hits;
      all += counts[i].steps;
    }
    return static_cast<double>(hits) / static_cast<double>(all);
  }

  Suspect Measure(int32_t rank, double level) const {
    const auto row = static_cast<size_t>(rank);
    Suspect suspect{.rank = rank, .first_step = -1, .slow_above_seconds = level};
    std::vector<double> excess, own, usual;
    int32_t known = 0;
    for (size_t step = 0; step < profile_.steps; ++step) {
      if (suspect.first_step < 0 && ExcessAt(row, step) >= level) suspect.first_step = static_cast<int32_t>(step);
      if (!Tells(row, step)) continue;  // where records are lost, only what is slow shows: that tells no share
      const auto seconds = static_cast<double>(profile_.Row(profile_.shared, row)[step]);
      known += suspect.first_step >= 0;
      (ExcessAt(row, step) < level ? usual : own).push_back(seconds);
      if (ExcessAt(row, step) >= level) excess.push_back(ExcessAt(row, step));
    }
    suspect.last_step = steps_.steps - 1;  // it may come back in the next step
    suspect.steps = known;
    // The first slow step says since when, and would count as slow whatever the share is.
    const auto slow = static_cast<double>(excess.size()) - 1;
    suspect.share_of_steps = slow / std::max(1, known - 1);
    suspect.excess_seconds = MedianInPlace(&excess);
    suspect.own_seconds = MedianInPlace(&own);
    suspect.before_seconds = MedianInPlace(&usual);
    return suspect;
  }

  static void Admit(const Suspect& suspect, std::vector<Suspect>* suspects) {
    const auto known = std::find_if(suspects->begin(), suspects->end(),
                                    [&suspect](const Suspect& other) { return other.rank == suspect.rank; });
    if (known == suspects->end()) {
      suspects->push_back(suspect);
      return;
    }
    const double slow_steps = suspect.share_of_steps * suspect.steps;
    if (slow_steps > kFarMore * known->share_of_steps * known->steps) *known = suspect;
  }

  const OwnProfile& profile_;
  const StepTable& steps_;
  const PersistenceOptions& options_;
  double noise_ = 0;
};

}  // namespace

double LogBinomialTail(size_t hits, size_t trials, double probability) {
  if (hits == 0) return 0;
  if (hits > trials || probability <= 0) return -std::numeric_limits<double>::infinity();
  if (probability >= 1) return 0;
  const auto n = static_cast<double>(trials);
  const double log_odds = std::log(probability) - std::log1p(-probability);
  double term = n * std::log1p(-probability);  // of no hit
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (size_t i = 1; i <= trials; ++i) {
    const auto k = static_cast<double>(i);
    term += std::log((n - k + 1) / k) + log_odds;
    if (i < hits) continue;
    if (term > largest) {
      sum = sum * std::exp(largest - term) + 1;
      largest = term;
    } else {
      sum += std::exp(term - largest);
    }
  }
  return std::min(0.0, largest + std::log(sum));
}

void AddIntermittentExcess(const OwnProfile& profile, const JobRoles& roles, const StepTable& steps,
                           const PersistenceOptions& options, std::vector<Suspect>* suspects) {
  if (profile.steps < static_cast<size_t>(kMinSuspectSteps) || steps.usual_seconds <= 0) return;
  Search search(profile, steps, options);
  for (const std::vector<int32_t>& peers : roles.classes) search.Run(peers, suspects);
  std::sort(suspects->begin(), suspects->end(), [](const Suspect& a, const Suspect& b) {
    return a.excess_seconds != b.excess_seconds ? a.excess_seconds > b.excess_seconds : a.rank < b.rank;
  });
}

}  // namespace lockstep
