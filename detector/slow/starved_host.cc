#include "detector/slow/starved_host.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/shares.h"
#include "detector/slow/intermittent_excess.h"
#include "detector/slow/launch_lateness.h"
#include "detector/stats/two_levels.h"

namespace lockstep {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kMinRanks = 2;  // of a host: what one rank has is the rank's
// Of the ranks of a host, in a step that tells: the majority.
constexpr double kMinKnown = kMainPart;
// Of what the mean rank of the host loses.
constexpr double kTakesPart = kMinorPart;
// Of the ranks of the host: the majority.
constexpr double kMostOf = kMainPart;
constexpr double kQuickStep = 2;  // weight against that of a slow one: a stretch is slow in two steps of three

struct Host {
  std::vector<int32_t> ranks;
  std::vector<float> worst;  // by step: of the rank that launches latest; NaN = too little is known
};

struct Stretch {
  double above = 0;  // slow steps have at least so much
  bool in_some_steps = false;
  size_t first = 0;
  size_t last = 0;
  size_t slow = 0;
  size_t known = 0;
};

class Search {
 public:
  Search(const Trace& trace, const JobRoles& roles, const OwnProfile& profile, const StepTable& steps,
         const PersistenceOptions& options)
      : roles_(roles),
        profile_(profile),
        options_(options),
        least_(options.min_cost / 2 * steps.usual_seconds),
        late_(roles, profile) {
    hosts_.resize(trace.hosts.size());
    for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      const int32_t host = trace.ranks[rank].host;
      if (host >= 0) hosts_[static_cast<size_t>(host)].ranks.push_back(static_cast<int32_t>(rank));
    }
    for (Host& host : hosts_) MeasureHost(&host);
  }

  std::vector<SlowCause> Run() const {
    std::vector<SlowCause> causes;
    for (const Host& host : hosts_) {
      if (host.worst.empty()) continue;
      Stretch stretch = LongestStretch(host);
      if (!Persists(stretch)) stretch = SinceFirst(host);
      if (!StandsOut(host, stretch)) continue;
      SlowCause cause = CauseOf(host, stretch);
      if (!cause.suspects.empty()) causes.push_back(std::move(cause));
    }
    return causes;
  }

  const LaunchLateness& late() const { return late_; }

 private:
  void MeasureHost(Host* host) {
    if (host->ranks.size() < kMinRanks) return;
    host->worst.assign(profile_.steps, kUnknown);
    for (size_t step = 0; step < profile_.steps; ++step) {
      size_t known = 0;
      float worst = 0;
      for (const int32_t rank : host->ranks) {
        const float late = late_.Of(rank, step);
        if (std::isnan(late)) continue;
        ++known;
        worst = std::max(worst, late);
      }
      if (static_cast<double>(known) >= kMinKnown * static_cast<double>(host->ranks.size())) host->worst[step] = worst;
    }
  }

  static bool IsSlow(const Host& host, size_t step, double above) {
    return static_cast<double>(host.worst[step]) >= above;
  }

  Stretch LongestStretch(const Host& host) const {
    Stretch best{.above = least_}, current;
    double most = 0, sum = 0;
    for (size_t step = 0; step < host.worst.size(); ++step) {
      if (std::isnan(host.worst[step])) continue;
      const bool slow = IsSlow(host, step, least_);
      if (sum <= 0) {
        if (!slow) continue;
        sum = 0;
        current = {.above = least_, .first = step};
      }
      sum += slow ? 1 : -kQuickStep;
      current.slow += slow;
      ++current.known;
      current.last = step;
      if (sum <= most) continue;
      most = sum;
      best = current;
    }
    return best;
  }

  // Of a host whose cores are taken now and then: to the end, since it may come back in the next step.
  Stretch SinceFirst(const Host& host) const {
    std::vector<double> rising;
    for (const float worst : host.worst) {
      if (!std::isnan(worst)) rising.push_back(static_cast<double>(worst));
    }
    if (rising.size() < static_cast<size_t>(kMinSuspectSteps)) return {};
    std::sort(rising.begin(), rising.end());
    Stretch since{.above = std::max(least_, SplitTwoLevels(rising).middle()), .in_some_steps = true};
    for (size_t step = 0; step < host.worst.size(); ++step) {
      if (std::isnan(host.worst[step])) continue;
      const bool slow = IsSlow(host, step, since.above);
      if (since.known == 0 && !slow) continue;
      if (since.known == 0) since.first = step;
      since.slow += slow;
      ++since.known;
      since.last = step;
    }
    return since;
  }

  bool Persists(const Stretch& stretch) const {
    return stretch.slow >= static_cast<size_t>(kMinSuspectSteps) &&
           static_cast<double>(stretch.slow) >= options_.min_persistence * static_cast<double>(stretch.known);
  }

  // Of a step of the stretch, in the mean.
  double MeanOf(const Host& host, const Stretch& stretch) const {
    double sum = 0;
    for (size_t step = stretch.first; step <= stretch.last; ++step) {
      if (!std::isnan(host.worst[step])) sum += static_cast<double>(host.worst[step]);
    }
    return sum / static_cast<double>(std::max<size_t>(1, stretch.known));
  }

  bool StandsOut(const Host& host, const Stretch& stretch) const {
    if (stretch.slow < static_cast<size_t>(kMinSuspectSteps) || MeanOf(host, stretch) < least_) return false;
    // Every host, at every onset and end, could have been the one.
    const auto steps = static_cast<double>(profile_.steps);
    const double trials = static_cast<double>(hosts_.size()) * steps * steps;
    return LogChance(host, stretch) < std::log(options_.false_suspects_per_job / trials);
  }

  // Of so many slow steps at the rate of the other hosts.
  double LogChance(const Host& host, const Stretch& stretch) const {
    size_t hits = 1, all = 1;
    for (const Host& other : hosts_) {
      if (&other == &host || other.worst.empty()) continue;
      for (size_t step = 0; step < other.worst.size(); ++step) {
        if (std::isnan(other.worst[step])) continue;
        ++all;
        hits += IsSlow(other, step, stretch.above);
      }
    }
    return LogBinomialTail(stretch.slow, stretch.known, static_cast<double>(hits) / static_cast<double>(all));
  }

  SlowCause CauseOf(const Host& host, const Stretch& stretch) const {
    SlowCause cause{.kind = SlowKind::kHost, .whole_host = true, .starved = true, .host_share = 1};
    const double significance = std::sqrt(-2 * LogChance(host, stretch));  // tail of the normal distribution
    double mean = 0;
    for (const int32_t rank : host.ranks) {
      Suspect suspect = SuspectOf(host, rank, stretch);
      if (suspect.steps == 0) continue;
      suspect.significance = significance;
      mean += suspect.excess_seconds;
      cause.suspects.push_back(suspect);
    }
    mean /= static_cast<double>(std::max<size_t>(1, cause.suspects.size()));
    const auto taking_part =
        std::count_if(cause.suspects.begin(), cause.suspects.end(),
                      [mean](const Suspect& suspect) { return suspect.excess_seconds >= kTakesPart * mean; });
    // In few steps not all can have had their turn.
    const size_t turns = std::min(host.ranks.size(), stretch.slow);
    if (static_cast<double>(taking_part) <= kMostOf * static_cast<double>(turns)) return {};
    std::stable_sort(cause.suspects.begin(), cause.suspects.end(),
                     [](const Suspect& a, const Suspect& b) { return a.excess_seconds > b.excess_seconds; });
    const Suspect& strongest = cause.suspects.front();
    cause.peer_seconds = strongest.own_seconds - strongest.excess_seconds;
    return cause;
  }

  // Means: what comes in bursts has no middle. Of a host that is slow in some steps, over these.
  Suspect SuspectOf(const Host& host, int32_t rank, const Stretch& stretch) const {
    Suspect suspect{.rank = rank,
                    .first_step = static_cast<int32_t>(stretch.first),
                    .last_step = static_cast<int32_t>(stretch.last),
                    .peers = static_cast<int32_t>(roles_.PeersOf(static_cast<size_t>(rank)).size()) - 1,
                    .slow_above_seconds = stretch.in_some_steps ? stretch.above : 0};
    int counted = 0;
    for (size_t step = stretch.first; step <= stretch.last; ++step) {
      const float late = late_.Of(rank, step);
      if (std::isnan(late)) continue;
      ++suspect.steps;
      if (stretch.in_some_steps && !IsSlow(host, step, stretch.above)) continue;
      ++counted;
      suspect.excess_seconds += static_cast<double>(late);
      suspect.own_seconds += static_cast<double>(profile_.Row(profile_.shared, static_cast<size_t>(rank))[step]);
    }
    if (suspect.steps == 0) return suspect;
    suspect.excess_seconds /= std::max(1, counted);
    suspect.own_seconds /= std::max(1, counted);
    suspect.share_of_steps = static_cast<double>(stretch.slow) / static_cast<double>(stretch.known);
    suspect.before_seconds = SecondsBefore(profile_, static_cast<size_t>(rank), stretch.first);
    return suspect;
  }

  const JobRoles& roles_;
  const OwnProfile& profile_;
  const PersistenceOptions& options_;
  const double least_;
  const LaunchLateness late_;
  std::vector<Host> hosts_;
};

// In the steps that its cause is said to last.
double LostSeconds(const Suspect& suspect) {
  const double share = suspect.slow_above_seconds > 0 ? suspect.share_of_steps : 1;
  return share * std::min(suspect.steps, suspect.last_step - suspect.first_step + 1) * suspect.excess_seconds;
}

}  // namespace

void AddStarvedHosts(const Trace& trace, const JobRoles& roles, const OwnProfile& profile, const StepTable& steps,
                     const PersistenceOptions& options, std::vector<SlowCause>* causes) {
  if (profile.steps < static_cast<size_t>(kMinSuspectSteps) || steps.usual_seconds <= 0) return;
  const Search search(trace, roles, profile, steps, options);
  const auto host_of = [&trace](const SlowCause& cause) {
    return trace.ranks[static_cast<size_t>(cause.suspects.front().rank)].host;
  };
  for (SlowCause& starved : search.Run()) {
    const int32_t host = host_of(starved);
    const auto tells_of_host = [&](const SlowCause& cause) {
      return host_of(cause) == host && cause.whole_host && !cause.suspects.front().in_some_steps() &&
             LostSeconds(cause.suspects.front()) >= LostSeconds(starved.suspects.front());
    };
    if (std::any_of(causes->begin(), causes->end(), tells_of_host)) continue;
    std::erase_if(*causes, [&](const SlowCause& cause) {
      return host_of(cause) == host && search.late().Explain(cause.suspects.front());
    });
    causes->push_back(std::move(starved));
  }
}

}  // namespace lockstep
