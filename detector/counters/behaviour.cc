#include "detector/counters/behaviour.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>

namespace lockstep {
namespace {

// Of the level: twice what machines of one duty differ by on their own (3 % each way at two sigma). Empirical.
constexpr double kWideGap = 0.15;
// Times the range of the units next to it: gaps between neighbours of one cluster are smaller than its range.
constexpr double kGapOverScatter = 4;

// Places [begin, end) of the sorted order.
struct Part {
  size_t begin;
  size_t end;
};

class Splitter {
 public:
  Splitter(absl::Span<const float> levels, absl::Span<const int32_t> hosts)
      : levels_(levels), hosts_(hosts), order_(levels.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return levels[a] < levels[b]; });
  }

  std::vector<int32_t> Split() {
    std::vector<Part> parts = {{0, order_.size()}};
    for (size_t i = 0; i < parts.size() && parts.size() < kMostDuties;) {
      const size_t cut = CutOf(parts[i]);
      if (cut == 0) {
        ++i;
        continue;
      }
      parts.push_back({cut, parts[i].end});
      parts[i].end = cut;
    }
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
    std::vector<int32_t> duties(order_.size(), 0);
    for (size_t part = 0; part < parts.size(); ++part) {
      for (size_t i = parts[part].begin; i < parts[part].end; ++i) duties[order_[i]] = static_cast<int32_t>(part);
    }
    return duties;
  }

 private:
  double At(size_t place) const { return levels_[order_[place]]; }

  // The range of the units next to a cut, on one side of it: the other end of that side may belong to other duties.
  double Scatter(Part nearby) const { return At(nearby.end - 1) - At(nearby.begin); }

  bool LargeEnough(Part part) const {
    if (static_cast<double>(part.end - part.begin) < kSmallestDuty * static_cast<double>(order_.size())) return false;
    std::set<int32_t> hosts;
    for (size_t i = part.begin; i < part.end && hosts.size() < kFewestHostsOfDuty; ++i) hosts.insert(hosts_[order_[i]]);
    return hosts.size() >= kFewestHostsOfDuty;
  }

  // Where the widest gap of the part is, if it separates two duties; else 0.
  size_t CutOf(Part part) const {
    size_t cut = 0;
    double widest = 0;
    for (size_t i = part.begin + 1; i < part.end; ++i) {
      const double gap = At(i) - At(i - 1);
      if (gap <= widest) continue;
      widest = gap;
      cut = i;
    }
    if (cut == 0) return 0;
    const Part low = {part.begin, cut};
    const Part high = {cut, part.end};
    const double level = std::max(std::abs(At(cut)), std::abs(At(cut - 1)));
    if (widest <= kWideGap * level || !LargeEnough(low) || !LargeEnough(high)) return 0;
    const auto nearby = static_cast<size_t>(kSmallestDuty * static_cast<double>(order_.size()) / 2) + 1;
    const double scatter = std::max(Scatter({cut - nearby, cut}), Scatter({cut, cut + nearby}));
    return widest > kGapOverScatter * scatter ? cut : 0;
  }

  absl::Span<const float> levels_;
  absl::Span<const int32_t> hosts_;
  std::vector<size_t> order_;
};

}  // namespace

std::vector<int32_t> DutiesByLevel(absl::Span<const float> levels, absl::Span<const int32_t> hosts) {
  return levels.empty() ? std::vector<int32_t>() : Splitter(levels, hosts).Split();
}

}  // namespace lockstep
