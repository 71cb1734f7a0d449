#include "detector/engine/slow_group.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/shares.h"
#include "detector/stats/robust.h"

namespace lockstep {
namespace {

constexpr double kMinRatio = 1 + kMinorPart;  // as of slow paths (link_verdict.h)
// Holds while fewer than three quarters are slow, as in transfer_table.cc.
constexpr double kHealthyQuantile = kMinorPart;
// Of fewer, the middle is nobody's measure.
constexpr size_t kLeastAlike = 3;

// Operations that take equally long where nothing is slow: kind, bytes, members in question.
using Duty = std::tuple<OperationKind, uint64_t, size_t>;

struct Instance {
  Duty duty;
  size_t known = 0;  // members
  double quickest_seconds = std::numeric_limits<double>::infinity();
};

bool HasCollectives(const Communicator& communicator) {
  return std::any_of(communicator.members.begin(), communicator.members.end(),
                     [](const Member& member) { return member.finished > 0; });
}

// Of complete operations, how long the last to arrive was inside: by communicator and duty.
std::map<CommunicatorId, std::map<Duty, std::vector<double>>> TransfersOf(
    const Roster& roster, const SearchPlan& plan, const std::vector<PulledOperations>& scouted) {
  std::map<CommunicatorId, size_t> size_of;
  for (const CommunicatorId id : plan.scouted) {
    const int32_t slot = roster.SlotOfCommunicator(id);
    size_of[id] = MembersOf(roster.communicators()[static_cast<size_t>(slot)], plan).size();
  }
  std::map<std::pair<CommunicatorId, uint64_t>, Instance> instances;
  for (const PulledOperations& batch : scouted) {
    const auto size = size_of.find(batch.communicator);
    if (size == size_of.end()) continue;
    for (const Operation& operation : batch.operations) {
      if (!IsSynchronous(operation.kind) || operation.quality >= TimingQuality::kHostCall) continue;
      Instance& instance = instances[{batch.communicator, operation.sequence}];
      instance.duty = {operation.kind, operation.bytes, size->second};
      ++instance.known;
      const double seconds = static_cast<double>(operation.end_ns - operation.start_ns) / kNanosPerSecond;
      instance.quickest_seconds = std::min(instance.quickest_seconds, seconds);
    }
  }
  std::map<CommunicatorId, std::map<Duty, std::vector<double>>> transfers;
  for (const auto& [key, instance] : instances) {
    if (static_cast<double>(instance.known) < kMostKnown * static_cast<double>(size_of[key.first])) continue;
    transfers[key.first][instance.duty].push_back(instance.quickest_seconds);
  }
  return transfers;
}

// Members, and who sends to them or receives from them.
std::vector<int32_t> WithPipelines(const Roster& roster, const SearchPlan& plan, CommunicatorId id) {
  std::vector<char> asked(roster.ranks().size(), 0);
  const Communicator& group = roster.communicators()[static_cast<size_t>(roster.SlotOfCommunicator(id))];
  for (const int32_t slot : MembersOf(group, plan)) {
    asked[static_cast<size_t>(slot)] = 1;
    for (const RankProcess::Membership& place : roster.ranks()[static_cast<size_t>(slot)].memberships) {
      const Communicator& other = roster.communicators()[static_cast<size_t>(place.communicator_slot)];
      if (HasCollectives(other)) continue;
      for (const int32_t mate : MembersOf(other, plan)) asked[static_cast<size_t>(mate)] = 1;
    }
  }
  std::vector<int32_t> ranks;
  for (size_t slot = 0; slot < asked.size(); ++slot) {
    if (asked[slot] != 0) ranks.push_back(static_cast<int32_t>(slot));
  }
  return ranks;
}

}  // namespace

SlowGroup FindSlowGroup(const Roster& roster, const SearchPlan& plan, const std::vector<PulledOperations>& scouted) {
  const auto transfers = TransfersOf(roster, plan, scouted);
  std::map<Duty, std::vector<double>> medians;
  for (const auto& [id, by_duty] : transfers) {
    for (const auto& [duty, seconds] : by_duty) medians[duty].push_back(LowerMedianOrNan(seconds));
  }
  std::map<Duty, double> usual;
  for (auto& [duty, seconds] : medians) {
    if (seconds.size() >= kLeastAlike) usual[duty] = Quantile(std::move(seconds), kHealthyQuantile);
  }
  double most = 0;
  CommunicatorId slowest = 0;
  for (const auto& [id, by_duty] : transfers) {
    for (const auto& [duty, seconds] : by_duty) {
      const auto known = usual.find(duty);
      if (known == usual.end()) continue;
      const double took = LowerMedianOrNan(seconds);
      if (took < kMinRatio * known->second || took - known->second <= most) continue;
      most = took - known->second;
      slowest = id;
    }
  }
  if (most <= 0) return {};
  return {.excess_seconds = most, .ranks = WithPipelines(roster, plan, slowest)};
}

}  // namespace lockstep
