#include "detector/slow/host_excess.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "base/shares.h"
#include "detector/model/peers_elsewhere.h"
#include "detector/slow/excess_stretch.h"
#include "detector/slow/host_middle.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

constexpr size_t kMinRanks = 2;  // of a host: what one rank has is the rank's
// Twice what a rank takes: what is sure in fewer shows on the ranks themselves, unless it is chance on all of them.
constexpr int32_t kMinSteps = 2 * kMinSuspectSteps;
constexpr size_t kMinHosts = 3;  // with two, nobody knows which is slow and which is quick

class Pool {
 public:
  Pool(const Trace& trace, const JobRoles& roles, const OwnProfile& profile) : profile_(profile) {
    const std::vector<char> have_peers = HavePeersElsewhere(trace, roles);
    ranks_.resize(trace.hosts.size());
    for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      const int32_t host = trace.ranks[rank].host;
      if (host >= 0 && have_peers[rank] != 0) ranks_[static_cast<size_t>(host)].push_back(static_cast<int32_t>(rank));
    }
    pooled_.ranks = ranks_.size();
    pooled_.steps = profile.steps;
    roles_.class_of_rank.assign(ranks_.size(), 0);
    roles_.classes.resize(1);
    for (size_t host = 0; host < ranks_.size(); ++host) AddHost(host);
  }

  std::vector<Suspect> Run(const StepTable& steps, const PersistenceOptions& options) const {
    std::vector<Suspect> found;
    if (roles_.classes[0].size() < kMinHosts) return found;
    for (const Suspect& host : FindPersistentExcess(pooled_, roles_, steps, options)) {
      if (host.steps < kMinSteps) continue;
      const std::vector<int32_t>& ranks = ranks_[static_cast<size_t>(host.rank)];
      std::vector<Suspect> sharing;
      for (const int32_t rank : ranks) {
        const Suspect suspect = OfRank(rank, host);
        if (suspect.excess_seconds >= kMainPart * host.excess_seconds) sharing.push_back(suspect);
      }
      if (static_cast<double>(sharing.size()) < kNearlyAll * static_cast<double>(ranks.size())) continue;
      found.insert(found.end(), sharing.begin(), sharing.end());
    }
    return found;
  }

 private:
  void AddHost(size_t host) {
    const std::vector<int32_t>& ranks = ranks_[host];
    if (ranks.size() >= kMinRanks) roles_.classes[0].push_back(static_cast<int32_t>(host));
    for (size_t step = 0; step < pooled_.steps; ++step) {
      const auto middle_of = [&](const std::vector<float>& values) {
        return MiddleAmong(ranks, [&](int32_t rank) { return profile_.Row(values, static_cast<size_t>(rank))[step]; });
      };
      pooled_.excess.push_back(middle_of(profile_.excess));
      pooled_.shared.push_back(middle_of(profile_.shared));
    }
  }

  Suspect OfRank(int32_t rank, const Suspect& host) const {
    const auto row = static_cast<size_t>(rank);
    const auto first = static_cast<size_t>(host.first_step), last = static_cast<size_t>(host.last_step);
    const ExcessStretch stretch = LookAt(profile_, row, first, last);
    std::vector<double> excess, own;
    for (const size_t step : stretch.telling) {
      excess.push_back(static_cast<double>(profile_.Row(profile_.excess, row)[step]));
      own.push_back(static_cast<double>(profile_.Row(profile_.shared, row)[step]));
    }
    Suspect suspect = host;
    suspect.rank = rank;
    suspect.steps = static_cast<int32_t>(stretch.known.size());
    suspect.excess_seconds = MedianInPlace(&excess);
    suspect.own_seconds = MedianInPlace(&own);
    suspect.before_seconds = SecondsBefore(profile_, row, first);
    return suspect;
  }

  const OwnProfile& profile_;
  std::vector<std::vector<int32_t>> ranks_;  // by host
  OwnProfile pooled_;                        // hosts in place of ranks
  JobRoles roles_;                           // of these
};

}  // namespace

void AddHostExcess(const Trace& trace, const JobRoles& roles, const OwnProfile& profile, const StepTable& steps,
                   const PersistenceOptions& options, std::vector<Suspect>* suspects) {
  const auto host_of = [&](const Suspect& suspect) { return trace.ranks[static_cast<size_t>(suspect.rank)].host; };
  const auto mean_seconds = [](const Suspect& suspect) {
    return suspect.excess_seconds * (suspect.in_some_steps() ? suspect.share_of_steps : 1);
  };
  std::vector<Suspect> added;
  std::set<int32_t> shared;
  for (const Suspect& suspect : Pool(trace, roles, profile).Run(steps, options)) {
    const bool known = std::any_of(suspects->begin(), suspects->end(), [&](const Suspect& other) {
      const bool tells_more = !other.in_some_steps() || mean_seconds(other) >= suspect.excess_seconds;
      return host_of(other) == host_of(suspect) && tells_more;
    });
    if (known) continue;
    added.push_back(suspect);
    shared.insert(host_of(suspect));
  }
  std::erase_if(*suspects, [&](const Suspect& suspect) { return shared.contains(host_of(suspect)); });
  suspects->insert(suspects->end(), added.begin(), added.end());
  std::stable_sort(suspects->begin(), suspects->end(),
                   [](const Suspect& a, const Suspect& b) { return a.excess_seconds > b.excess_seconds; });
}

}  // namespace lockstep
