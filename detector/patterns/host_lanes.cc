#include "detector/patterns/host_lanes.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr uint64_t kLeastPart = 10;  // who leads has at least the tenth part of the work of the busiest lane

bool IsWork(FunctionKind kind) { return kind == FunctionKind::kRuntime || kind == FunctionKind::kOperator; }

}  // namespace

uint64_t HostLanes::NumberOf(uint64_t lane) {
  const auto known = numbers_.find(lane);
  if (known != numbers_.end()) return known->second;
  if (lanes_.size() == kMostLanes) return kMostLanes - 1;
  const uint64_t number = lanes_.size();
  numbers_.emplace(lane, number);
  lanes_.emplace_back();
  return number;
}

void HostLanes::AddCall(uint64_t lane, FunctionKind kind, FunctionGroup group) {
  Lane& known = lanes_[lane];
  if (IsWork(kind)) ++known.calls;
  if (kind == FunctionKind::kRuntime && group == FunctionGroup::kLaunch) ++known.launches;
  if (IsOfHost(kind) && group == FunctionGroup::kDataLoading) known.loads_data = true;
}

void HostLanes::Settle() {
  uint64_t most_calls = 0;
  uint64_t most_launches = 0;
  for (const Lane& lane : lanes_) {
    most_calls = std::max(most_calls, lane.calls);
    most_launches = std::max(most_launches, lane.launches);
  }
  for (Lane& lane : lanes_) {
    const uint64_t work = most_launches > 0 ? lane.launches : lane.calls;
    const uint64_t most = most_launches > 0 ? most_launches : most_calls;
    lane.leads = lane.has_steps || (work > 0 && work * kLeastPart >= most);
    one_leads_ |= lane.leads;
  }
}

bool HostLanes::Counts(uint64_t lane, FunctionKind kind) const {
  const Lane& known = lanes_[lane];
  if (known.leads || !one_leads_) return true;
  return IsWork(kind) && !known.loads_data;
}

}  // namespace lockstep
