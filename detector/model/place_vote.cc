#include "detector/model/place_vote.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

namespace lockstep {
namespace {

using NamedPlace = std::pair<PlaceKind, std::string>;
using Members = std::map<NamedPlace, std::vector<int32_t>>;

// ln(i!) for i up to `most`. Sums, and not lgamma, which writes a global.
std::vector<double> LogFactorials(size_t most) {
  std::vector<double> log(most + 1, 0);
  for (size_t i = 2; i <= most; ++i) log[i] = log[i - 1] + std::log(static_cast<double>(i));
  return log;
}

class Hypergeometric {
 public:
  explicit Hypergeometric(size_t most) : log_(LogFactorials(most)) {}

  // P(X >= k) when `drawn` of `all` are drawn, of which `marked` are marked.
  double AtLeast(int32_t k, int32_t all, int32_t marked, int32_t drawn) const {
    double sum = 0;
    for (int32_t x = std::max(k, drawn - (all - marked)); x <= std::min(marked, drawn); ++x) {
      sum += std::exp(LogChoose(marked, x) + LogChoose(all - marked, drawn - x) - LogChoose(all, drawn));
    }
    return std::min(1.0, sum);
  }

 private:
  double LogChoose(int32_t n, int32_t k) const {
    return log_[static_cast<size_t>(n)] - log_[static_cast<size_t>(k)] - log_[static_cast<size_t>(n - k)];
  }

  std::vector<double> log_;
};

// Places of at least two of the machines that are left.
Members MembersOf(const PlaceTable& table, absl::Span<const std::string> hosts, const std::vector<bool>& is_left) {
  Members members;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const auto known = is_left[i] ? table.of_host.find(hosts[i]) : table.of_host.end();
    if (known == table.of_host.end()) continue;
    for (size_t kind = 0; kind < kPlaceKinds; ++kind) {
      const std::string& name = known->second[kind];
      if (!name.empty()) members[{static_cast<PlaceKind>(kind), name}].push_back(static_cast<int32_t>(i));
    }
  }
  std::erase_if(members, [](const auto& place) { return place.second.size() < 2; });
  return members;
}

class Vote {
 public:
  Vote(const PlaceTable& table, absl::Span<const std::string> hosts, absl::Span<const int32_t> deviating)
      : table_(table),
        hosts_(hosts),
        chances_(hosts.size()),
        is_left_(hosts.size(), true),
        deviates_(hosts.size(), false) {
    for (const int32_t index : deviating) deviates_[static_cast<size_t>(index)] = true;
  }

  // The least probable place; no places = none explains anything.
  PlaceVote Next() {
    const Members members = MembersOf(table_, hosts_, is_left_);
    const auto all = Count(is_left_);
    const auto drawn = Count(deviates_);
    PlaceVote best;
    const std::vector<int32_t>* best_members = nullptr;
    for (const auto& [place, machines] : members) {
      std::vector<int32_t> inside = Deviating(machines);
      if (2 * inside.size() <= machines.size()) continue;
      const auto size = static_cast<int32_t>(machines.size());
      const auto count = static_cast<int32_t>(inside.size());
      const double chance = chances_.AtLeast(count, all, size, drawn) * static_cast<double>(members.size());
      if (chance > kMostChance) continue;
      if (best_members != nullptr && machines == *best_members) {
        best.places.push_back(place);
      } else if (chance < best.chance) {
        best = {{place}, std::move(inside), size, drawn - count, all - size, chance};
        best_members = &machines;
      }
    }
    if (best_members != nullptr) Remove(*best_members);
    return best;
  }

 private:
  static int32_t Count(const std::vector<bool>& which) {
    return static_cast<int32_t>(std::count(which.begin(), which.end(), true));
  }

  std::vector<int32_t> Deviating(const std::vector<int32_t>& machines) const {
    std::vector<int32_t> inside;
    for (const int32_t machine : machines) {
      if (deviates_[static_cast<size_t>(machine)]) inside.push_back(machine);
    }
    return inside;
  }

  void Remove(const std::vector<int32_t>& machines) {
    for (const int32_t machine : machines) {
      is_left_[static_cast<size_t>(machine)] = false;
      deviates_[static_cast<size_t>(machine)] = false;
    }
  }

  const PlaceTable& table_;
  absl::Span<const std::string> hosts_;
  Hypergeometric chances_;
  std::vector<bool> is_left_;
  std::vector<bool> deviates_;
};

}  // namespace

std::vector<PlaceVote> VoteOnPlaces(const PlaceTable& table, absl::Span<const std::string> hosts,
                                    absl::Span<const int32_t> deviating) {
  std::vector<PlaceVote> votes;
  if (table.empty() || deviating.size() < 2) return votes;
  Vote vote(table, hosts, deviating);
  while (votes.size() < kMaxPlaceVotes) {
    PlaceVote next = vote.Next();
    if (next.places.empty()) break;
    votes.push_back(std::move(next));
  }
  return votes;
}

}  // namespace lockstep
