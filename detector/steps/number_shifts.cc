#include "detector/steps/number_shifts.h"

#include <algorithm>
#include <deque>

#include "detector/model/disjoint_sets.h"

namespace lockstep {
namespace {

struct Bond {
  int32_t lower = -1;
  int32_t higher = -1;
  int32_t difference = 0;
  int margin = 0;  // votes for it less those for others
};

Bond BondOf(const std::pair<int32_t, int32_t>& groups, const std::map<int32_t, int>& differences) {
  const auto most = std::max_element(differences.begin(), differences.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  int all = 0;
  for (const auto& [difference, count] : differences) all += count;
  return {groups.first, groups.second, most->first, 2 * most->second - all};
}

struct Neighbour {
  int32_t group = -1;
  int32_t difference = 0;  // of its number from that of the group whose neighbour it is
};

// By group.
std::vector<std::vector<Neighbour>> SurestTree(const NumberVotes& votes, size_t groups) {
  std::vector<Bond> bonds;
  for (const auto& [pair, differences] : votes) bonds.push_back(BondOf(pair, differences));
  std::stable_sort(bonds.begin(), bonds.end(), [](const Bond& a, const Bond& b) { return a.margin > b.margin; });
  DisjointSets bound(groups);
  std::vector<std::vector<Neighbour>> tree(groups);
  for (const Bond& bond : bonds) {
    if (bound.Find(bond.lower) == bound.Find(bond.higher)) continue;
    bound.Join(bond.lower, bond.higher);
    tree[static_cast<size_t>(bond.lower)].push_back({bond.higher, bond.difference});
    tree[static_cast<size_t>(bond.higher)].push_back({bond.lower, -bond.difference});
  }
  return tree;
}

}  // namespace

std::vector<int32_t> NumberShifts(const NumberVotes& votes, size_t groups) {
  const std::vector<std::vector<Neighbour>> tree = SurestTree(votes, groups);
  std::vector<int32_t> shifts(groups, 0);
  std::vector<char> reached(groups, 0);
  for (size_t start = 0; start < groups; ++start) {
    if (reached[start] != 0) continue;
    reached[start] = 1;
    std::deque<size_t> open = {start};
    while (!open.empty()) {
      const size_t at = open.front();
      open.pop_front();
      for (const Neighbour& neighbour : tree[at]) {
        const auto next = static_cast<size_t>(neighbour.group);
        if (reached[next] != 0) continue;
        reached[next] = 1;
        shifts[next] = shifts[at] - neighbour.difference;
        open.push_back(next);
      }
    }
  }
  return shifts;
}

}  // namespace lockstep
