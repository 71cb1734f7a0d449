#include "detector/counters/host_duties.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "detector/counters/behaviour.h"

namespace lockstep {

std::vector<int32_t> DutiesOfHosts(const Trace& trace, const JobRoles& roles, absl::Span<const std::string> hosts) {
  std::map<std::string, std::vector<int32_t>> classes_of_host;
  for (size_t rank = 0; rank < trace.ranks.size() && rank < roles.class_of_rank.size(); ++rank) {
    const int32_t host = trace.ranks[rank].host;
    if (host >= 0) classes_of_host[trace.hosts[static_cast<size_t>(host)]].push_back(roles.class_of_rank[rank]);
  }
  std::map<std::vector<int32_t>, int32_t> duty_of_classes;
  std::vector<int32_t> duties;
  for (const std::string& host : hosts) {
    const auto known = classes_of_host.find(host);
    if (known == classes_of_host.end()) return {};
    std::sort(known->second.begin(), known->second.end());
    duties.push_back(
        duty_of_classes.emplace(known->second, static_cast<int32_t>(duty_of_classes.size())).first->second);
  }
  for (int32_t duty = 0; duty < static_cast<int32_t>(duty_of_classes.size()); ++duty) {
    if (std::count(duties.begin(), duties.end(), duty) < kFewestHostsOfDuty) return {};
  }
  return duties;
}

}  // namespace lockstep
