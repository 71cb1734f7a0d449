#include "detector/slow/host_excess.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/slow/excess_stretch.h"
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
    ranks_.resize(trace.hosts.size());
    for (const std::vector<int32_t>& peers : roles.classes) AddPeers(trace, peers);
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
  // Those with peers on other hosts.
  void AddPeers(const Trace& trace, const std::vector<int32_t>& peers) {
    const auto host_of = [&](int32_t rank) { return trace.ranks[static_cast<size_t>(rank)].host; };
    const bool elsewhere =
        std::any_of(peers.begin(), peers.end(), [&](int32_t rank) { return host_of(rank) != host_of(peers[0]); });
    for (const int32_t rank : peers) {
      if (elsewhere && host_of(rank) >= 0) ranks_[static_cast<size_t>(host_of(rank))].push_back(rank);
    }
  }

  float MiddleOf(const std::vector<float>& values, const std::vector<int32_t>& ranks, size_t step) const {
    std::vector<double> known;
    for (const int32_t rank : ranks) {
      const float value = profile_.Row(values, static_cast<size_t>(rank))[step];
      if (!std::isnan(value)) known.push_back(static_cast<double>(value));
    }
    // Of too few it would vary more than in other steps.
    if (2 * known.size() <= ranks.size()) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(MedianInPlace(&known));
  }

  void AddHost(size_t host) {
    const std::vector<int32_t>& ranks = ranks_[host];
    if (ranks.size() >= kMinRanks) roles_.classes[0].push_back(static_cast<int32_t>(host));
    for (size_t step = 0; step < pooled_.steps; ++step) {
      pooled_.excess.push_back(MiddleOf(profile_.excess, ranks, step));
      pooled_.shared.push_back(MiddleOf(profile_.shared, ranks, step));
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
  std::vector<Suspect> added;
  for (const Suspect& suspect : Pool(trace, roles, profile).Run(steps, options)) {
    const bool known = std::any_of(suspects->begin(), suspects->end(),
                                   [&](const Suspect& other) { return host_of(other) == host_of(suspect); });
    if (!known) added.push_back(suspect);
  }
  suspects->insert(suspects->end(), added.begin(), added.end());
  std::stable_sort(suspects->begin(), suspects->end(),
                   [](const Suspect& a, const Suspect& b) { return a.excess_seconds > b.excess_seconds; });
}

}  // namespace lockstep
