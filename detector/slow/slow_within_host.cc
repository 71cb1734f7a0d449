#include "detector/slow/slow_within_host.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "detector/model/roles.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

constexpr size_t kMinRanks = 4;  // of fewer, half of which are slower, nobody knows which are

// The rows of some ranks, in this order, and their excess over the middle of the others among them.
OwnProfile AmongThemselves(const OwnProfile& profile, const std::vector<int32_t>& ranks) {
  OwnProfile part{.ranks = ranks.size(), .steps = profile.steps};
  for (const int32_t rank : ranks) {
    const auto row = static_cast<size_t>(rank);
    const auto copy = [&](const std::vector<float>& from, std::vector<float>* to) {
      if (!from.empty()) to->insert(to->end(), profile.Row(from, row).begin(), profile.Row(from, row).end());
    };
    copy(profile.shared, &part.shared);
    copy(profile.guess_scale, &part.guess_scale);
  }
  part.excess.assign(part.shared.size(), std::numeric_limits<float>::quiet_NaN());
  for (size_t at = 0; at < part.excess.size(); ++at) {
    std::vector<double> others;
    for (size_t rank = 0; rank < part.ranks; ++rank) {
      const float own = part.shared[rank * part.steps + at % part.steps];
      if (rank != at / part.steps && !std::isnan(own)) others.push_back(static_cast<double>(own));
    }
    if (others.size() + 1 < kMinRanks) continue;
    part.excess[at] = part.shared[at] - static_cast<float>(MedianInPlace(&others));
  }
  return part;
}

// What all but one rank of a host exceed their peers by.
double SharedExcess(const SlowCause& host, int32_t but) {
  std::vector<double> excess;
  for (const Suspect& suspect : host.suspects) {
    if (suspect.rank != but) excess.push_back(suspect.excess_seconds);
  }
  return MedianInPlace(&excess);
}

// The host's cause keeps what the rank shares with the others; the own time of the rank's is without that.
SlowCause Divide(Suspect suspect, SlowCause* host) {
  const double shared = SharedExcess(*host, suspect.rank);
  for (Suspect& of_host : host->suspects) {
    if (of_host.rank == suspect.rank) of_host.excess_seconds = std::min(of_host.excess_seconds, shared);
  }
  std::stable_sort(host->suspects.begin(), host->suspects.end(),
                   [](const Suspect& a, const Suspect& b) { return a.excess_seconds > b.excess_seconds; });
  suspect.own_seconds = std::max(suspect.excess_seconds, suspect.own_seconds - shared);
  return {.beyond_host = true, .suspects = {suspect}, .peer_seconds = suspect.own_seconds - suspect.excess_seconds};
}

}  // namespace

void AddSlowWithinHosts(const OwnProfile& profile, const StepTable& steps, const PersistenceOptions& options,
                        std::vector<SlowCause>* causes) {
  std::vector<SlowCause> within;
  for (SlowCause& host : *causes) {
    if (!host.whole_host || host.kind != SlowKind::kInput || host.suspects.size() < kMinRanks) continue;
    std::vector<int32_t> ranks;
    for (const Suspect& suspect : host.suspects) ranks.push_back(suspect.rank);
    JobRoles one_class;
    one_class.classes.emplace_back(ranks.size());
    std::iota(one_class.classes[0].begin(), one_class.classes[0].end(), 0);
    one_class.class_of_rank.assign(ranks.size(), 0);
    for (Suspect suspect : FindPersistentExcess(AmongThemselves(profile, ranks), one_class, steps, options)) {
      suspect.rank = ranks[static_cast<size_t>(suspect.rank)];
      within.push_back(Divide(suspect, &host));
    }
  }
  causes->insert(causes->end(), within.begin(), within.end());
}

}  // namespace lockstep
