#include "detector/engine/standing_duties.h"

#include <cstddef>
#include <utility>

namespace lockstep {

void StandingDuties::Take(const std::map<std::string, int32_t>& duty_of_host, const Roster& roster) {
  std::vector<int32_t> duties(roster.hosts().size(), -1);
  std::vector<char> has_rank(duties.size(), 0);
  for (const RankProcess& rank : roster.ranks()) has_rank[static_cast<size_t>(rank.host_slot)] = 1;
  std::map<int32_t, int32_t> number_of;  // by number of the look, which depends on the order of its ranks
  for (size_t host = 0; host < duties.size(); ++host) {
    if (has_rank[host] == 0) continue;
    const auto known = duty_of_host.find(roster.hosts()[host].name);
    if (known == duty_of_host.end()) return;
    duties[host] = number_of.emplace(known->second, static_cast<int32_t>(number_of.size())).first->second;
  }
  if (of_host_.empty() || duties == newest_) of_host_ = duties;
  newest_ = std::move(duties);
}

void StandingDuties::Clear() {
  of_host_.clear();
  newest_.clear();
}

}  // namespace lockstep
