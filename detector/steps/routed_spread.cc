#include "detector/steps/routed_spread.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/median.h"
#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/stats/even_places.h"
#include "detector/stats/order_statistics.h"
#include "detector/steps/expert_work.h"

namespace lockstep {
namespace {

// Budget of time: a layer's place comes back in each of them, and in every group.
constexpr size_t kLookedAtSteps = 8;
// As even as other work: of uneven experts the busiest exceeds the mean by half as much again at least.
constexpr double kAsEven = 1 + kMinorPart;

// What the members of a group did at one place of one step.
struct Cell {
  double sum = 0;
  double most = 0;
  size_t members = 0;
};

// Over all groups and steps.
struct PlaceSum {
  double excess = 0;  // of the busiest over the mean, seconds
  double mean = 0;

  void Add(const PlaceSum& other) {
    excess += other.excess;
    mean += other.mean;
  }
  double spread() const { return mean > 0 ? excess / mean : 0; }
};

std::vector<int32_t> StepsToLookAt(const StepTable& steps) {
  std::vector<int32_t> usual;
  for (int32_t step = 0; step < steps.steps; ++step) {
    if (steps.usual[static_cast<size_t>(step)] != 0) usual.push_back(step);
  }
  std::vector<int32_t> chosen;
  for (const size_t place : EvenPlaces(usual.size(), kLookedAtSteps)) chosen.push_back(usual[place]);
  return chosen;
}

class Sums {
 public:
  Sums(const Trace& trace, const JobRoles& roles, const StepTable& steps, const OwnTimes& times)
      : trace_(trace),
        roles_(roles),
        steps_(steps),
        times_(times),
        others_(Kinds()),
        first_(Kinds()),
        either_sums_(static_cast<size_t>(roles.families)) {}

  // One group in one step.
  void Add(int32_t communicator, const std::vector<int32_t>& members, int32_t step) {
    ranges_.clear();
    uint64_t first = UINT64_MAX;
    for (const int32_t rank : members) {
      const StepRange& range = steps_.Of(static_cast<size_t>(rank), step);
      if (!range.complete || range.empty()) continue;
      ranges_.push_back(range);
      for (uint32_t i = range.begin; i < range.end; ++i) {
        if (trace_.operations[i].communicator != communicator) continue;
        first = std::min(first, trace_.operations[i].sequence);
        break;
      }
    }
    if (ranges_.size() < 2) return;
    routed_.clear();
    for (std::vector<Cell>& cells : others_) cells.clear();
    for (const StepRange& range : ranges_) AddMember(communicator, range, first);
    Flush(routed_, &routed_sums_);
    for (size_t kind = 0; kind < others_.size(); ++kind) {
      if (kind % kOperationKinds == static_cast<size_t>(OperationKind::kAllToAll)) {
        Flush(others_[kind], &either_sums_[kind / kOperationKinds]);
        continue;
      }
      std::vector<PlaceSum> places;
      Flush(others_[kind], &places);
      for (const PlaceSum& place : places) others_sum_.Add(place);
    }
  }

  // Of other groups.
  void Add(const Sums& other) {
    AddPlaces(other.routed_sums_, &routed_sums_);
    for (size_t family = 0; family < either_sums_.size(); ++family) {
      AddPlaces(other.either_sums_[family], &either_sums_[family]);
    }
    others_sum_.Add(other.others_sum_);
  }

  RoutedSpread Result() const {
    std::vector<PlaceSum> places = routed_sums_;
    PlaceSum routed;
    for (const PlaceSum& place : places) routed.Add(place);
    if (others_sum_.mean >= kFew * (others_sum_.mean + routed.mean)) {
      return {.routed = routed.spread(), .unrouted = others_sum_.spread()};
    }
    for (const std::vector<PlaceSum>& either : either_sums_) {
      for (const PlaceSum& place : either) routed.Add(place);
      places.insert(places.end(), either.begin(), either.end());
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const PlaceSum& a, const PlaceSum& b) { return a.spread() < b.spread(); });
    PlaceSum least, most;
    for (const PlaceSum& place : places) (2 * (least.mean + place.mean) <= routed.mean ? least : most).Add(place);
    return {.routed = most.spread(), .unrouted = least.spread()};
  }

 private:
  static void AddPlaces(const std::vector<PlaceSum>& from, std::vector<PlaceSum>* into) {
    if (into->size() < from.size()) into->resize(from.size());
    for (size_t place = 0; place < from.size(); ++place) (*into)[place].Add(from[place]);
  }

  size_t Kinds() const { return static_cast<size_t>(roles_.families) * kOperationKinds; }

  void AddMember(int32_t communicator, const StepRange& range, uint64_t first_routed) {
    std::fill(first_.begin(), first_.end(), UINT64_MAX);
    for (uint32_t i = range.begin; i < range.end; ++i) {
      const TraceOperation& operation = trace_.operations[i];
      if (IsSendOrRecv(operation.kind)) continue;
      const size_t kind = KindOf(roles_, operation);
      first_[kind] = std::min(first_[kind], operation.sequence);
      const OwnInterval& interval = times_.before[i];
      if (interval.seconds < 0) continue;
      // Before what begins together with an AllToAll, as reductions of a layer's gradients do, most work is attention.
      const bool routed = operation.communicator == communicator && interval.routed;
      const uint64_t place = operation.sequence - (routed ? first_routed : first_[kind]);
      if (place >= range.end - range.begin) continue;  // operations of other steps lie between
      std::vector<Cell>& cells = routed ? routed_ : others_[kind];
      if (cells.size() <= place) cells.resize(place + 1);
      const auto seconds = static_cast<double>(interval.seconds);
      cells[place].sum += seconds;
      cells[place].most = std::max(cells[place].most, seconds);
      ++cells[place].members;
    }
  }

  // Only what is known of all members: the busiest may be the one that is not.
  void Flush(const std::vector<Cell>& cells, std::vector<PlaceSum>* sums) const {
    if (sums->size() < cells.size()) sums->resize(cells.size());
    for (size_t place = 0; place < cells.size(); ++place) {
      if (cells[place].members != ranges_.size()) continue;
      const double mean = cells[place].sum / static_cast<double>(ranges_.size());
      (*sums)[place].Add({.excess = cells[place].most - mean, .mean = mean});
    }
  }

  const Trace& trace_;
  const JobRoles& roles_;
  const StepTable& steps_;
  const OwnTimes& times_;
  std::vector<StepRange> ranges_;          // of the members
  std::vector<Cell> routed_;               // by place
  std::vector<std::vector<Cell>> others_;  // by KindOf, then place
  std::vector<uint64_t> first_;            // by KindOf: sequence number of the member's first of the step
  std::vector<PlaceSum> routed_sums_;      // by place
  // Before AllToAlls behind something else, by family, then place: what ran beside the experts may have cut their work.
  std::vector<std::vector<PlaceSum>> either_sums_;
  PlaceSum others_sum_;
};

std::vector<int32_t> MembersOf(const Trace& trace, const JobRoles& roles, size_t communicator) {
  if (roles.communicators[communicator].role != GroupRole::kExpert) return {};
  std::vector<int32_t> members = trace.communicators[communicator].members;
  std::erase(members, -1);
  return members;
}

}  // namespace

RoutedSpread MeasureRoutedSpread(const Trace& trace, const JobRoles& roles, const StepTable& steps,
                                 const OwnTimes& times) {
  Sums all(trace, roles, steps, times);
  const std::vector<int32_t> looked_at = StepsToLookAt(steps);
  size_t groups = 0;
  std::vector<double> routed, unrouted;  // by group
  for (size_t c = 0; c < trace.communicators.size(); ++c) {
    const std::vector<int32_t> members = MembersOf(trace, roles, c);
    if (members.size() < 2) continue;
    ++groups;
    Sums sums(trace, roles, steps, times);
    for (const int32_t step : looked_at) sums.Add(static_cast<int32_t>(c), members, step);
    all.Add(sums);
    const RoutedSpread of_group = sums.Result();
    if (of_group.routed <= 0 || of_group.unrouted <= 0) continue;
    routed.push_back(of_group.routed);
    unrouted.push_back(of_group.unrouted);
  }
  if (groups == 0) return {};
  RoutedSpread spread = all.Result();
  spread.groups = groups;
  // A slow member makes the work of its group uneven, whatever it is.
  spread.decides = routed.empty() || MedianInPlace(&routed) > kAsEven * ElementAt(unrouted.size() / 4, &unrouted);
  return spread;
}

}  // namespace lockstep
