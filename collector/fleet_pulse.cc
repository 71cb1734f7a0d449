#include "collector/fleet_pulse.h"

#include <algorithm>
#include <iterator>

namespace lockstep {
namespace {

bool IsOver(const wire::Rank& rank) {
  constexpr const char* kOver[] = {"finalized", "gone", "zombie"};
  return std::any_of(std::begin(kOver), std::end(kOver),
                     [&](const char* state) { return rank.process_state() == state; });
}

}  // namespace

FleetPulse::FleetPulse(const std::vector<AgentView>& agents, int64_t now_wall_ns) {
  for (const AgentView& agent : agents) {
    if (agent.last_report_wall_ns == 0) continue;
    const int64_t age_ns = now_wall_ns - agent.last_report_wall_ns;
    if (age_ns <= kHeardWithinNs) {
      reporting_.insert(agent.host);
    } else if (age_ns <= kLatelyNs) {
      ++silent_;
    }
  }
}

FleetSight FleetPulse::Beside(const std::vector<wire::Rank>& ranks) const {
  const bool is_there = std::any_of(ranks.begin(), ranks.end(), [this](const wire::Rank& rank) {
    return !IsOver(rank) && reporting_.contains(rank.host());
  });
  if (is_there) return {};
  return {.reporting = static_cast<int32_t>(reporting_.size()), .silent = silent_};
}

}  // namespace lockstep
