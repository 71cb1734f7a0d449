#include "detector/engine/search_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "detector/stats/robust.h"

namespace lockstep {
namespace {

// By judgement, not measured.
constexpr size_t kLargestShare = 4;  // a unit is at most one in so many of the ranks
constexpr size_t kSuspects = 2;
// The fewest of which a median leaves one out.
constexpr size_t kPeers = 3;
constexpr size_t kLeastUnits = 3;

class Units {
 public:
  explicit Units(size_t ranks) : parent_(ranks), size_(ranks, 1) { std::iota(parent_.begin(), parent_.end(), 0); }

  int32_t Root(int32_t rank) {
    while (parent_[static_cast<size_t>(rank)] != rank) {
      int32_t& parent = parent_[static_cast<size_t>(rank)];
      parent = parent_[static_cast<size_t>(parent)];
      rank = parent;
    }
    return rank;
  }

  // Whether `ranks` became, or are, one unit of at most `limit` ranks.
  bool Join(const std::vector<int32_t>& ranks, size_t limit) {
    std::vector<int32_t> roots;
    for (const int32_t rank : ranks) roots.push_back(Root(rank));
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    size_t together = 0;
    for (const int32_t root : roots) together += size_[static_cast<size_t>(root)];
    if (roots.size() > 1 && together > limit) return false;
    for (const int32_t root : roots) parent_[static_cast<size_t>(root)] = roots[0];
    size_[static_cast<size_t>(roots[0])] = together;
    return true;
  }

 private:
  std::vector<int32_t> parent_;
  std::vector<size_t> size_;
};

std::vector<int32_t> ScopeOf(const Roster& roster, const std::vector<int32_t>& scope) {
  if (!scope.empty()) return scope;
  std::vector<int32_t> all(roster.ranks().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int32_t> RanksOf(const SearchPlan& plan, const std::vector<int32_t>& units) {
  std::vector<int32_t> ranks;
  for (size_t slot = 0; slot < plan.unit_of.size(); ++slot) {
    if (std::find(units.begin(), units.end(), plan.unit_of[slot]) != units.end()) {
      ranks.push_back(static_cast<int32_t>(slot));
    }
  }
  return ranks;
}

// Collectives so far; without any, what runs there are Send and Recv, of which there are many.
uint64_t CallsOf(const Communicator& communicator) {
  uint64_t calls = 0;
  for (const Member& member : communicator.members) calls = std::max(calls, member.finished);
  return calls == 0 ? std::numeric_limits<uint64_t>::max() : calls;
}

// How much later than the median member each unit came, in nanoseconds: the mean over its members in a communicator,
// the median over the steps, and that of the communicator and call (kind and size) where it is most. Not the mean over
// all: a host whose input comes late is late once per step and in its own groups, and then everybody is. NaN = nothing
// is known.
std::vector<double> LatenessOf(const Roster& roster, const SearchPlan& plan,
                               const std::vector<PulledOperations>& scouted) {
  struct Instance {
    OperationKind kind = OperationKind::kUnknown;
    uint64_t bytes = 0;
    std::vector<std::pair<int32_t, double>> inside;  // unit, nanoseconds
  };
  std::map<CommunicatorId, size_t> size_of;
  for (const Communicator& communicator : roster.communicators()) {
    size_of[communicator.id] = MembersOf(communicator, plan).size();
  }
  std::map<std::pair<CommunicatorId, uint64_t>, Instance> instances;
  for (const PulledOperations& batch : scouted) {
    const int32_t slot = roster.SlotOfRank(batch.rank);
    if (slot < 0 || plan.unit_of[static_cast<size_t>(slot)] < 0) continue;
    for (const Operation& operation : batch.operations) {
      if (!IsSynchronous(operation.kind) || operation.quality >= TimingQuality::kHostEnqueue) continue;
      Instance& instance = instances[{batch.communicator, operation.sequence}];
      instance.kind = operation.kind;
      instance.bytes = operation.bytes;
      instance.inside.emplace_back(plan.unit_of[static_cast<size_t>(slot)],
                                   static_cast<double>(operation.end_ns - operation.start_ns));
    }
  }
  using Call = std::tuple<int32_t, CommunicatorId, OperationKind, uint64_t>;  // of a unit
  std::map<Call, std::vector<double>> excess;
  for (const auto& [key, instance] : instances) {
    if (static_cast<double>(instance.inside.size()) < kMostKnown * static_cast<double>(size_of[key.first])) continue;
    std::vector<double> durations;
    for (const auto& [unit, duration] : instance.inside) durations.push_back(duration);
    const double middle = LowerMedianOrNan(std::move(durations));
    std::map<int32_t, std::pair<double, double>> of_unit;  // sum, members
    for (const auto& [unit, duration] : instance.inside) {
      of_unit[unit].first += middle - duration;
      of_unit[unit].second += 1;
    }
    for (const auto& [unit, sum] : of_unit) {
      excess[{unit, key.first, instance.kind, instance.bytes}].push_back(sum.first / sum.second);
    }
  }
  std::vector<double> lateness(static_cast<size_t>(plan.units), std::numeric_limits<double>::quiet_NaN());
  for (auto& [call, late] : excess) {
    double& most = lateness[static_cast<size_t>(std::get<0>(call))];
    most = std::fmax(most, LowerMedianOrNan(std::move(late)));
  }
  return lateness;
}

}  // namespace

std::vector<int32_t> MembersOf(const Communicator& communicator, const SearchPlan& plan) {
  std::vector<int32_t> slots;
  for (const Member& member : communicator.members) {
    const bool counts = member.rank_slot >= 0 && !member.freed;
    if (counts && plan.unit_of[static_cast<size_t>(member.rank_slot)] >= 0) slots.push_back(member.rank_slot);
  }
  return slots;
}

double OperationsPerSecond(const Roster& roster, const std::vector<int32_t>& scope) {
  double rate = 0;
  for (const int32_t slot : ScopeOf(roster, scope)) {
    const std::vector<CpuSample>& cpu = roster.ranks()[static_cast<size_t>(slot)].cpu;
    if (cpu.size() < 2 || cpu.back().host_ns <= cpu.front().host_ns) continue;
    const uint64_t operations = cpu.back().operations_finished - cpu.front().operations_finished;
    rate += static_cast<double>(operations) * kNanosPerSecond /
            static_cast<double>(cpu.back().host_ns - cpu.front().host_ns);
  }
  return rate;
}

SearchPlan PlanSearch(const Roster& roster, const std::vector<int32_t>& scope) {
  struct Candidate {
    uint64_t calls;
    size_t size;
    CommunicatorId id;
    std::vector<int32_t> members;
  };
  SearchPlan plan;
  plan.unit_of.assign(roster.ranks().size(), -1);
  const std::vector<int32_t> ranks = ScopeOf(roster, scope);
  for (const int32_t slot : ranks) plan.unit_of[static_cast<size_t>(slot)] = 0;
  std::vector<Candidate> candidates;
  for (const Communicator& communicator : roster.communicators()) {
    std::vector<int32_t> members = MembersOf(communicator, plan);
    if (members.size() < 2) continue;
    candidates.push_back({CallsOf(communicator), members.size(), communicator.id, std::move(members)});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(b.calls, a.size, a.id) < std::tuple(a.calls, b.size, b.id);
  });
  Units units(roster.ranks().size());
  bool joined = false;
  for (const Candidate& candidate : candidates) {
    if (units.Join(candidate.members, ranks.size() / kLargestShare)) {
      joined = true;
    } else {
      plan.scouted.push_back(candidate.id);
    }
  }
  if (!joined) plan.scouted.clear();
  std::sort(plan.scouted.begin(), plan.scouted.end());
  std::map<int32_t, int32_t> number;
  for (const int32_t slot : ranks) {
    const auto next = static_cast<int32_t>(number.size());
    plan.unit_of[static_cast<size_t>(slot)] = number.emplace(units.Root(slot), next).first->second;
  }
  plan.units = static_cast<int32_t>(number.size());
  return plan;
}

UnitOrder OrderUnits(const Roster& roster, const SearchPlan& plan, const std::vector<PulledOperations>& scouted) {
  const std::vector<double> lateness = LatenessOf(roster, plan, scouted);
  std::vector<std::pair<double, int32_t>> order;
  for (size_t unit = 0; unit < lateness.size(); ++unit) {
    if (!std::isnan(lateness[unit])) order.emplace_back(-lateness[unit], static_cast<int32_t>(unit));
  }
  std::sort(order.begin(), order.end());
  UnitOrder result;
  if (!order.empty()) result.latest_seconds = -order.front().first / kNanosPerSecond;
  for (const auto& [late, unit] : order) result.units.push_back(unit);
  return result;
}

std::vector<int32_t> LatestUnit(const SearchPlan& plan, const std::vector<int32_t>& order) {
  return order.empty() ? std::vector<int32_t>() : RanksOf(plan, {order[0]});
}

std::vector<int32_t> SuspectsAndPeers(const SearchPlan& plan, const std::vector<int32_t>& order) {
  if (order.size() < kLeastUnits) return {};
  std::vector<int32_t> wanted(order.begin(), order.begin() + kSuspects);
  const size_t middle = std::max(order.size() / 2, kSuspects);
  for (size_t i = middle; i < std::min(order.size(), middle + kPeers); ++i) wanted.push_back(order[i]);
  return RanksOf(plan, wanted);
}

}  // namespace lockstep
