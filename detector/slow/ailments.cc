#include "detector/slow/ailments.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "detector/slow/persistent_excess.h"

namespace lockstep {
namespace {

bool AreOne(const SlowCause& cause, const SlowTransfers& slow) {
  const Suspect& rank = cause.suspects.front();
  return cause.kind != SlowKind::kInput && !cause.whole_host &&
         std::abs(rank.first_step - slow.first_step) <= kSameOnsetSteps &&
         std::binary_search(slow.ranks.begin(), slow.ranks.end(), rank.rank);
}

std::vector<int32_t> Joined(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace

Ailments AilmentsOf(const TraceAnalysis& analysis, const std::vector<SlowCause>& causes,
                    const std::vector<SlowTransfers>& transfers) {
  Ailments ailments;
  for (const SlowCause& cause : causes) {
    const Suspect& strongest = cause.suspects.front();
    ailments.all.push_back({.cause = &cause,
                            .profile = &analysis.profile,
                            .first_step = strongest.first_step,
                            .last_step = strongest.last_step,
                            .earliest_step = strongest.earliest_step(),
                            .latest_step = strongest.latest_step(),
                            .excess_seconds = ExcessOf(strongest)});
  }
  for (const SlowTransfers& slow : transfers) {
    size_t at = 0;
    while (at < causes.size() && !AreOne(causes[at], slow)) ++at;
    if (at == causes.size()) {
      at = ailments.all.size();
      ailments.all.push_back({.first_step = slow.first_step,
                              .last_step = analysis.steps.steps - 1,
                              .earliest_step = slow.first_step,
                              .latest_step = analysis.steps.steps - 1,
                              .excess_seconds = slow.excess_seconds});
    }
    ailments.all[at].transfers.push_back(&slow);
    ailments.all[at].hosts = Joined(ailments.all[at].hosts, slow.hosts);
    ailments.of_transfers.push_back(at);
  }
  return ailments;
}

}  // namespace lockstep
