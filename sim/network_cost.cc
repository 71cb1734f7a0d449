#include "sim/network_cost.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "detector/model/input.h"

namespace lockstep {
namespace {

// Bytes over the slowest link of a ring, as a multiple of the operation's bytes.
double RingFactor(OperationKind operation, int32_t members) {
  const double share = static_cast<double>(members - 1) / members;
  return operation == OperationKind::kAllReduce ? 2 * share : share;
}

int64_t Extended(int64_t begin_ns, int64_t end_ns, int64_t freeze_begin_ns, int64_t freeze_end_ns) {
  if (begin_ns >= freeze_end_ns || end_ns <= freeze_begin_ns) return end_ns;
  return end_ns + freeze_end_ns - std::max(begin_ns, freeze_begin_ns);
}

}  // namespace

NetworkCost::NetworkCost(const JobSpec& job, const Layout& layout) : job_(job), layout_(layout) {
  for (int k = 0; k < kGroupKinds; ++k) {
    const auto kind = static_cast<GroupKind>(k);
    if (!layout.Uses(kind) || kind == GroupKind::kPipeline) continue;
    groups_[k].resize(layout.GroupCount(kind));
    for (size_t g = 0; g < groups_[k].size(); ++g) {
      // Members follow one another by rank, hence by host.
      const int32_t first = layout.Member(kind, static_cast<int32_t>(g), 0);
      const int32_t last = layout.Member(kind, static_cast<int32_t>(g), layout.GroupSize(kind) - 1);
      groups_[k][g].crosses_hosts = layout.HostOf(first) != layout.HostOf(last);
    }
  }
}

void NetworkCost::Use(const StepConditions& conditions, int64_t step_begin_ns, int64_t usual_step_ns) {
  conditions_ = &conditions;
  freezes_.clear();
  for (const LeafFreeze& freeze : conditions.network.freezes) {
    const int64_t begin_ns =
        step_begin_ns + static_cast<int64_t>(freeze.begin_share * static_cast<double>(usual_step_ns));
    freezes_.push_back({freeze.leaf, begin_ns, begin_ns + freeze.length_ns});
  }
  if (!conditions.network.any && !rated_) return;
  rated_ = conditions.network.any;
  for (int k = 0; k < kGroupKinds; ++k) {
    for (size_t g = 0; g < groups_[k].size(); ++g) RateGroup(static_cast<GroupKind>(k), static_cast<int32_t>(g));
  }
}

void NetworkCost::RateGroup(GroupKind kind, int32_t group) {
  Group& rated = groups_[static_cast<size_t>(kind)][group];
  rated.nic = 1;
  rated.nvlink = 1;
  const NetworkConditions& network = conditions_->network;
  if (!network.any) return;
  const int32_t size = layout_.GroupSize(kind);
  const int32_t first_leaf = layout_.LeafOf(layout_.Member(kind, group, 0));
  const bool crosses_leaves = first_leaf != layout_.LeafOf(layout_.Member(kind, group, size - 1));
  for (int32_t i = 0; i < size; ++i) {
    const int32_t rank = layout_.Member(kind, group, i);
    const int32_t next = layout_.Member(kind, group, (i + 1) % size);
    const int32_t host = layout_.HostOf(rank);
    const bool shares_host =
        host == layout_.HostOf(next) || (i > 0 && host == layout_.HostOf(layout_.Member(kind, group, i - 1)));
    if (shares_host) rated.nvlink = std::max(rated.nvlink, network.nvlink[rank]);
    if (!rated.crosses_hosts) continue;
    rated.nic = std::max({rated.nic, network.send[rank], network.receive[rank]});
    if (crosses_leaves) rated.nic = std::max(rated.nic, network.leaf[layout_.LeafOf(rank)]);
    if (conditions_->network.pairs.empty() || kind == GroupKind::kExpert) continue;
    rated.nic = std::max(rated.nic, static_cast<float>(PairFactor(host, layout_.HostOf(next))));
  }
}

double NetworkCost::PairFactor(int32_t first_host, int32_t second_host) const {
  double factor = 1;
  for (const HostPair& pair : conditions_->network.pairs) {
    const bool same = (pair.first == first_host && pair.second == second_host) ||
                      (pair.first == second_host && pair.second == first_host);
    if (same) factor = std::max(factor, pair.factor);
  }
  return factor;
}

int64_t NetworkCost::CollectiveNanos(const Instruction& operation, int32_t group) const {
  const Group& rated = groups_[static_cast<size_t>(operation.group)][group];
  const int32_t size = layout_.GroupSize(operation.group);
  const double bytes = RingFactor(operation.operation, size) * static_cast<double>(operation.bytes);
  double seconds = rated.nvlink * bytes / job_.workload.nvlink_bytes_per_second;
  if (rated.crosses_hosts) seconds = std::max(seconds, rated.nic * bytes / job_.workload.nic_bytes_per_second);
  if (operation.operation == OperationKind::kAllToAll) seconds *= conditions_->expert_traffic;
  const int hops = std::bit_width(static_cast<uint32_t>(size - 1));
  return static_cast<int64_t>((seconds + job_.workload.latency_seconds * hops) * 1e9);
}

double NetworkCost::MemberFactor(const Instruction& operation, int32_t group, int32_t rank) const {
  if (operation.operation != OperationKind::kAllToAll || conditions_->network.pairs.empty()) return 1;
  double factor = 1;
  for (int32_t i = 0; i < layout_.GroupSize(operation.group); ++i) {
    const int32_t other = layout_.Member(operation.group, group, i);
    factor = std::max(factor, PairFactor(layout_.HostOf(rank), layout_.HostOf(other)));
  }
  return factor;
}

double NetworkCost::PathFactor(int32_t source, int32_t target) const {
  const NetworkConditions& network = conditions_->network;
  double factor = std::max(network.send[source], network.receive[target]);
  const int32_t from = layout_.LeafOf(source);
  const int32_t to = layout_.LeafOf(target);
  if (from != to) factor = std::max<double>(factor, std::max(network.leaf[from], network.leaf[to]));
  return std::max(factor, PairFactor(layout_.HostOf(source), layout_.HostOf(target)));
}

int64_t NetworkCost::TransferNanos(uint64_t bytes, int32_t source, int32_t target) const {
  const bool inside = layout_.HostOf(source) == layout_.HostOf(target);
  double factor = 1;
  if (conditions_->network.any) {
    const NetworkConditions& network = conditions_->network;
    factor = inside ? std::max(network.nvlink[source], network.nvlink[target]) : PathFactor(source, target);
  }
  const double rate = inside ? job_.workload.nvlink_bytes_per_second : job_.workload.nic_bytes_per_second;
  return static_cast<int64_t>((factor * static_cast<double>(bytes) / rate + job_.workload.latency_seconds) * 1e9);
}

int64_t NetworkCost::AfterFreezes(GroupKind kind, int32_t group, int64_t begin_ns, int64_t end_ns) const {
  const int32_t last = layout_.GroupSize(kind) - 1;
  if (layout_.LeafOf(layout_.Member(kind, group, 0)) == layout_.LeafOf(layout_.Member(kind, group, last))) {
    return end_ns;
  }
  for (const Freeze& freeze : freezes_) {
    for (int32_t i = 0; i <= last; ++i) {
      if (layout_.LeafOf(layout_.Member(kind, group, i)) != freeze.leaf) continue;
      end_ns = Extended(begin_ns, end_ns, freeze.begin_ns, freeze.end_ns);
      break;
    }
  }
  return end_ns;
}

int64_t NetworkCost::AfterFreezes(int32_t source, int32_t target, int64_t begin_ns, int64_t end_ns) const {
  const int32_t from = layout_.LeafOf(source);
  const int32_t to = layout_.LeafOf(target);
  if (from == to) return end_ns;
  for (const Freeze& freeze : freezes_) {
    if (freeze.leaf == from || freeze.leaf == to) {
      end_ns = Extended(begin_ns, end_ns, freeze.begin_ns, freeze.end_ns);
    }
  }
  return end_ns;
}

}  // namespace lockstep
