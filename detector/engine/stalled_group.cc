#include "detector/engine/stalled_group.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace lockstep {
namespace {

bool Explains(const Verdict& stall, const Verdict& verdict) {
  const std::string& host = stall.culprits.front().host;
  return verdict.verdict_class == VerdictClass::kGroupSlow && verdict.culprits.size() > 1 &&
         verdict.first_step <= stall.last_step && stall.first_step <= verdict.last_step &&
         std::any_of(verdict.culprits.begin(), verdict.culprits.end(),
                     [&host](const Culprit& culprit) { return culprit.host == host; });
}

}  // namespace

std::vector<Verdict> JoinStalledGroups(Verdict* stall, std::vector<Verdict>* verdicts) {
  if (!AccusesNode(*stall) || stall->culprits.size() != 1 || !stall->culprits.front().peer_host.empty()) return {};
  const auto joined = std::stable_partition(verdicts->begin(), verdicts->end(),
                                            [stall](const Verdict& verdict) { return !Explains(*stall, verdict); });
  std::vector<Verdict> groups(std::make_move_iterator(joined), std::make_move_iterator(verdicts->end()));
  verdicts->erase(joined, verdicts->end());
  for (const Verdict& group : groups) {
    stall->first_step = std::min(stall->first_step, group.first_step);
    stall->last_step = std::max(stall->last_step, group.last_step);
    stall->cost.slowdown_fraction = std::min(1.0, stall->cost.slowdown_fraction + group.cost.slowdown_fraction);
    stall->cost.seconds_per_step += group.cost.seconds_per_step;
    stall->cost.steps_affected_fraction =
        std::max(stall->cost.steps_affected_fraction, group.cost.steps_affected_fraction);
    stall->evidence.insert(stall->evidence.end(), group.evidence.begin(), group.evidence.end());
  }
  return groups;
}

}  // namespace lockstep
