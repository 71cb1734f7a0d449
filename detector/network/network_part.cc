#include "detector/network/network_part.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace lockstep {
namespace {

// Hosts that fine paths connect, by the smallest number among them.
class Islands {
 public:
  explicit Islands(const std::vector<int32_t>& host_of)
      : parent_(1 + static_cast<size_t>(*std::max_element(host_of.begin(), host_of.end()))) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  void Connect(int32_t a, int32_t b) {
    const auto [low, high] = std::minmax({Of(a), Of(b)});
    parent_[static_cast<size_t>(high)] = low;
  }

  int32_t Of(int32_t host) {
    while (parent_[static_cast<size_t>(host)] != host) {
      int32_t& parent = parent_[static_cast<size_t>(host)];
      host = parent = parent_[static_cast<size_t>(parent)];
    }
    return host;
  }

 private:
  std::vector<int32_t> parent_;
};

using PathsOfIsland = std::map<int32_t, std::set<int32_t>>;

// All of those in `left` that explain most of it per host: equals are not told apart by their numbers.
std::vector<int32_t> BestOf(const PathsOfIsland& left, const std::map<int32_t, size_t>& hosts) {
  const auto worse = [&](const auto& a, const auto& b) {
    return a.second.size() * hosts.at(b.first) < b.second.size() * hosts.at(a.first);
  };
  const auto best = std::max_element(left.begin(), left.end(), worse);
  std::vector<int32_t> equals;
  for (const auto& entry : left) {
    if (!worse(entry, *best)) equals.push_back(entry.first);
  }
  return equals;
}

// As few hosts as explain all paths; without `largest`.
std::set<int32_t> Cover(PathsOfIsland left, const std::map<int32_t, size_t>& hosts, int32_t largest) {
  std::set<int32_t> chosen, explained;
  left.erase(largest);
  while (!left.empty()) {
    for (const int32_t island : BestOf(left, hosts)) {
      chosen.insert(island);
      explained.merge(left.at(island));
    }
    for (auto& [island, paths] : left) std::erase_if(paths, [&](int32_t p) { return explained.contains(p); });
    std::erase_if(left, [](const auto& entry) { return entry.second.empty(); });
  }
  return chosen;
}

}  // namespace

NetworkPart FindNetworkPart(const std::vector<VotePath>& paths, const std::vector<int32_t>& host_of,
                            const std::vector<int32_t>& slow, const std::vector<int32_t>& fine) {
  Islands islands(host_of);
  const auto host = [&host_of](int32_t rank) { return host_of[static_cast<size_t>(rank)]; };
  for (const int32_t p : fine) {
    const std::vector<int32_t>& ranks = paths[static_cast<size_t>(p)].ranks;
    for (const int32_t rank : ranks) islands.Connect(host(rank), host(ranks[0]));
  }
  std::map<int32_t, size_t> size;
  const std::set<int32_t> hosts(host_of.begin(), host_of.end());
  for (const int32_t each : hosts) ++size[islands.Of(each)];
  const auto smaller = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto largest = std::max_element(size.begin(), size.end(), smaller);
  if (2 * largest->second < hosts.size() || size.size() < 2) return {};
  const auto of_its_size = [&](const auto& entry) { return entry.second == largest->second; };
  const bool of_one_size = std::count_if(size.begin(), size.end(), of_its_size) > 1;
  NetworkPart part;
  PathsOfIsland at;
  for (const int32_t p : slow) {
    std::set<int32_t> passed;
    for (const int32_t rank : paths[static_cast<size_t>(p)].ranks) passed.insert(islands.Of(host(rank)));
    if (passed.size() < 2) continue;
    part.slow_paths.push_back(p);
    for (const int32_t island : passed) at[island].insert(p);
  }
  const std::set<int32_t> chosen = Cover(std::move(at), size, largest->first);
  for (const int32_t each : hosts) {
    if (of_one_size || chosen.contains(islands.Of(each))) part.hosts.push_back(each);
  }
  if (part.hosts.size() < 2) return {};
  return part;
}

}  // namespace lockstep
