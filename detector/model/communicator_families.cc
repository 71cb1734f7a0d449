#include "detector/model/communicator_families.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace lockstep {
namespace {

constexpr double kBusier = 1.5;  // times the calls: lost records and the ends of a recording do not make that much

class FamilySearch {
 public:
  FamilySearch(const Trace& trace, const std::vector<CommunicatorUse>& uses) : trace_(trace), uses_(uses) {}

  CommunicatorFamilies Run() const {
    const std::vector<Key> keys = Keys();
    std::map<Key, int32_t> numbers;
    for (const Key& key : keys) numbers.try_emplace(key, 0);
    CommunicatorFamilies families;
    for (auto& [key, number] : numbers) number = families.count++;
    for (const Key& key : keys) families.of.push_back(numbers.at(key));
    return families;
  }

 private:
  const std::vector<int32_t>& Members(size_t communicator) const { return trace_.communicators[communicator].members; }

  // How far its members are apart on their hosts, in GPUs; 0 = each is on a host of its own, or nobody knows.
  int32_t GpuDistanceOf(size_t communicator) const {
    std::vector<std::pair<int32_t, int32_t>> places;  // host, GPU
    for (const int32_t member : Members(communicator)) {
      if (member < 0) continue;
      const TraceRank& rank = trace_.ranks[static_cast<size_t>(member)];
      if (rank.host >= 0 && rank.gpu >= 0) places.emplace_back(rank.host, rank.gpu);
    }
    std::sort(places.begin(), places.end());
    int32_t distance = 0;
    for (size_t i = 1; i < places.size(); ++i) {
      if (places[i].first != places[i - 1].first) continue;
      const int32_t apart = places[i].second - places[i - 1].second;
      if (distance == 0 || apart < distance) distance = apart;
    }
    return distance;
  }

  // What can be seen of a communicator by itself: size, on one host, GPUs between members, inside a stage, moves data
  // between all.
  using Shape = std::tuple<size_t, bool, int32_t, bool, bool>;

  std::vector<Shape> Shapes() const {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < uses_.size(); ++i) {
      const CommunicatorUse& use = uses_[i];
      shapes.emplace_back(Members(i).size(), use.on_one_host, GpuDistanceOf(i), use.inside_stage, use.exchanges);
    }
    return shapes;
  }

  // Of the communicators of one shape, how many that are clearly busier some member has besides: one rank is in several
  // only where they serve different ends.
  std::vector<int32_t> BusierBeside(const std::vector<Shape>& shapes) const {
    std::vector<std::vector<size_t>> of_rank(trace_.ranks.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      for (const int32_t member : Members(i)) {
        if (member >= 0) of_rank[static_cast<size_t>(member)].push_back(i);
      }
    }
    const auto calls = [this](size_t i) { return static_cast<double>(uses_[i].calls); };
    std::vector<int32_t> busier(shapes.size(), 0);
    for (std::vector<size_t>& own : of_rank) {
      std::sort(own.begin(), own.end(), [&](size_t a, size_t b) {
        return shapes[a] != shapes[b] ? shapes[a] < shapes[b] : calls(a) > calls(b);
      });
      int32_t level = 0;
      for (size_t i = 1; i < own.size(); ++i) {
        if (shapes[own[i]] != shapes[own[i - 1]]) {
          level = 0;
        } else if (calls(own[i - 1]) > kBusier * calls(own[i])) {
          ++level;
        }
        busier[own[i]] = std::max(busier[own[i]], level);
      }
    }
    return busier;
  }

  std::vector<int32_t> SortedMembers(size_t communicator) const {
    std::vector<int32_t> members = Members(communicator);
    std::sort(members.begin(), members.end());
    return members;
  }

  // What communicators of one family share: the last is a number among those of the same members.
  using Key = std::tuple<Shape, int32_t, int32_t>;

  std::vector<Key> Keys() const {
    const std::vector<Shape> shapes = Shapes();
    const std::vector<int32_t> busier = BusierBeside(shapes);
    std::vector<Key> keys;
    std::map<Key, std::vector<size_t>> alike;
    for (size_t i = 0; i < shapes.size(); ++i) {
      keys.emplace_back(shapes[i], busier[i], 0);
      alike[keys.back()].push_back(i);
    }
    for (const auto& [key, own] : alike) {
      const std::vector<int32_t> members = SortedMembers(own.front());
      const bool are_same = std::all_of(own.begin(), own.end(), [&](size_t i) { return SortedMembers(i) == members; });
      for (size_t i = 1; are_same && i < own.size(); ++i) std::get<2>(keys[own[i]]) = static_cast<int32_t>(i);
    }
    return keys;
  }

  const Trace& trace_;
  const std::vector<CommunicatorUse>& uses_;
};

}  // namespace

CommunicatorFamilies FindFamilies(const Trace& trace, const std::vector<CommunicatorUse>& uses) {
  return FamilySearch(trace, uses).Run();
}

}  // namespace lockstep
