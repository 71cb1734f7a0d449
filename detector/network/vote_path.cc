#include "detector/network/vote_path.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {

bool CrossesHosts(const VotePath& path, const std::vector<int32_t>& host_of) {
  const auto host = [&](int32_t rank) { return host_of[static_cast<size_t>(rank)]; };
  return std::any_of(path.ranks.begin(), path.ranks.end(), [&](int32_t r) { return host(r) != host(path.ranks[0]); });
}

std::vector<int32_t> HostsOf(const std::vector<int32_t>& ranks, const std::vector<int32_t>& host_of) {
  std::vector<int32_t> hosts;
  for (const int32_t rank : ranks) hosts.push_back(host_of[static_cast<size_t>(rank)]);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

}  // namespace lockstep
