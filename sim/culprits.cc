#include "sim/culprits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

using enum FaultKind;
using Class = VerdictClass;

Culprit Host(int32_t host, const Layout& layout) { return {.host = layout.HostName(host), .confidence = 1}; }

Culprit Rank(int32_t rank, const Layout& layout) {
  return {.host = layout.HostName(layout.HostOf(rank)), .rank = rank, .gpu = layout.GpuOf(rank), .confidence = 1};
}

Culprit Nic(int32_t rank, const Layout& layout) {
  Culprit culprit = Rank(rank, layout);
  culprit.device = absl::StrCat("mlx5_", layout.GpuOf(rank), "/1");
  return culprit;
}

Culprit Link(int32_t host, int32_t peer, const Layout& layout) {
  Culprit culprit = Host(host, layout);
  culprit.peer_host = layout.HostName(peer);
  return culprit;
}

constexpr GroupKind kCollectiveKinds[] = {GroupKind::kTensor, GroupKind::kContext, GroupKind::kData, GroupKind::kExpert,
                                          GroupKind::kEmbedding};

bool CrossesHosts(const std::vector<int32_t>& ranks, const Layout& layout) {
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](int32_t r) { return layout.HostOf(r) != layout.HostOf(ranks.front()); });
}

// All sets of ranks of which `rank` is one and that send data to one another: groups, and pairs of stages.
std::vector<std::vector<int32_t>> CrossingSetsOf(int32_t rank, const Layout& layout) {
  std::vector<std::vector<int32_t>> sets;
  for (const GroupKind kind : kCollectiveKinds) {
    if (!layout.Uses(kind) || layout.GroupOf(kind, rank) < 0) continue;
    sets.push_back(layout.Members(kind, layout.GroupOf(kind, rank)));
  }
  const int32_t stage = layout.StageOf(rank);
  for (const int32_t other : {stage - 1, stage + 1}) {
    if (other < 0 || other >= layout.stages()) continue;
    sets.push_back({std::min(rank, layout.InStage(rank, other)), std::max(rank, layout.InStage(rank, other))});
  }
  std::erase_if(sets, [&](const auto& set) { return !CrossesHosts(set, layout); });
  return sets;
}

// Members that follow one another in the ring of the set, on these two hosts.
bool UsesPath(const std::vector<int32_t>& set, int32_t host, int32_t peer, const Layout& layout) {
  for (size_t i = 0; i < set.size(); ++i) {
    const int32_t from = layout.HostOf(set[i]);
    const int32_t to = layout.HostOf(set[(i + 1) % set.size()]);
    if ((from == host && to == peer) || (from == peer && to == host)) return true;
  }
  return false;
}

std::set<int32_t> HostsInAll(const std::vector<std::vector<int32_t>>& sets, const Layout& layout) {
  std::set<int32_t> common;
  for (size_t i = 0; i < sets.size(); ++i) {
    std::set<int32_t> hosts;
    for (const int32_t r : sets[i]) hosts.insert(layout.HostOf(r));
    if (i == 0) {
      common = hosts;
      continue;
    }
    std::erase_if(common, [&](int32_t host) { return !hosts.contains(host); });
  }
  return common;
}

// Where a transfer got stuck: the ranks that wait in it.
std::vector<int32_t> StuckSet(const InjectedHang& hang, const Layout& layout, const Plan& plan) {
  const StageProgram& program = plan.stages[layout.StageOf(hang.rank)];
  const Instruction& instruction = program.instructions[hang.instruction];
  if (instruction.kind == InstructionKind::kTransfers) {
    const Transfer& transfer = plan.transfers[program.transfer_groups[instruction.handle].transfers.front()];
    return {layout.InStage(hang.rank, transfer.source_stage), layout.InStage(hang.rank, transfer.target_stage)};
  }
  return layout.Members(instruction.group, layout.GroupOf(instruction.group, hang.rank));
}

void AddOnce(const Culprit& culprit, std::vector<Culprit>& culprits) {
  if (std::find(culprits.begin(), culprits.end(), culprit) == culprits.end()) culprits.push_back(culprit);
}

}  // namespace

std::vector<Culprit> CulpritsOf(const FaultSpec& fault, const Layout& layout) {
  std::vector<Culprit> culprits;
  const TargetKind target_kind = InfoOf(fault.kind).target;
  if (InfoOf(fault.kind).negative) return culprits;
  for (size_t i = 0; i < fault.targets.size(); ++i) {
    const int32_t target = fault.targets[i];
    if (target_kind == TargetKind::kHostPair) {
      AddOnce(Link(target, fault.targets[i + 1], layout), culprits);
      ++i;
    } else if (target_kind == TargetKind::kLeaf) {
      for (int32_t h = 0; h < layout.hosts(); ++h) {
        if (layout.LeafOfHost(h) == target) culprits.push_back(Host(h, layout));
      }
    } else if (fault.kind == kNvlinkSlow) {
      // A tensor group's times tell which host's NVLink is slow, not which GPU's.
      AddOnce(Host(layout.HostOf(target), layout), culprits);
    } else if (target_kind == TargetKind::kHost) {
      culprits.push_back(Host(target, layout));
    } else {
      culprits.push_back(target_kind == TargetKind::kNic ? Nic(target, layout) : Rank(target, layout));
    }
  }
  return culprits;
}

std::vector<Culprit> CulpritsOfHang(const FaultSpec& fault, absl::Span<const InjectedHang> hung, const Layout& layout,
                                    const Plan& plan) {
  std::vector<Culprit> culprits;
  for (const InjectedHang& hang : hung) {
    if (hang.kind != fault.kind) continue;
    if (fault.kind == kMachineUnreachable) {
      AddOnce(Host(layout.HostOf(hang.rank), layout), culprits);
    } else if (fault.kind == kTransferStuck) {
      const std::vector<int32_t> waiting = StuckSet(hang, layout, plan);
      if (waiting.size() == 2) {
        AddOnce(Link(layout.HostOf(waiting[0]), layout.HostOf(waiting[1]), layout), culprits);
      } else {
        AddOnce(Host(layout.HostOf(hang.rank), layout), culprits);
      }
    } else {
      culprits.push_back(Rank(hang.rank, layout));
    }
  }
  return culprits;
}

std::vector<std::string> IndistinguishableHosts(const FaultSpec& fault, absl::Span<const InjectedHang> hung,
                                                const Layout& layout, const Plan& plan) {
  std::set<int32_t> hosts;
  size_t exact = 1;
  if (fault.targets.empty()) return {};
  const int32_t target = fault.targets.front();
  if (fault.kind == kTransferStuck && !hung.empty()) {
    hosts = HostsInAll({StuckSet(hung.front(), layout, plan)}, layout);
    exact = 2;
  } else if (fault.kind == kNicSendSlow || fault.kind == kNicReceiveSlow) {
    hosts = HostsInAll(CrossingSetsOf(target, layout), layout);
  } else if (fault.kind == kLinkSlow) {
    std::vector<std::vector<int32_t>> slow;
    for (int32_t r = 0; r < layout.ranks(); ++r) {
      if (layout.HostOf(r) != target) continue;
      for (std::vector<int32_t>& set : CrossingSetsOf(r, layout)) {
        if (UsesPath(set, target, fault.targets[1], layout)) slow.push_back(std::move(set));
      }
    }
    hosts = HostsInAll(slow, layout);
    exact = 2;
  }
  std::vector<std::string> names;
  if (hosts.size() <= exact) return names;
  std::transform(hosts.begin(), hosts.end(), std::back_inserter(names), [&](int32_t h) { return layout.HostName(h); });
  return names;
}

std::vector<VerdictClass> AcceptableClasses(const FaultSpec& fault, const Layout& layout, bool distinguishable) {
  const bool pipelined = layout.stages() > 1;
  switch (fault.kind) {
    case kGpuLost:
      return {Class::kHangNotEntered, Class::kProcessDead};
    case kProcessDead:
      return {Class::kHangNotEntered};
    case kMachineUnreachable:
      return {Class::kHangNotEntered, Class::kProcessDead};
    case kGpuStuck:
      return {Class::kGpuFault};
    case kDeadlock:
      return {Class::kCollectiveMismatch};
    case kClockThrottled:
      return {Class::kComputeSlow};
    case kPcieDegraded:
      return {Class::kComputeSlow, Class::kCommSlowTx, Class::kCommSlowRx};
    case kNicSendSlow:
    case kNicReceiveSlow:
      // Which way is slow shows in Send/Recv alone, and between two stages a NIC looks like its only path.
      if (!pipelined) return {Class::kCommSlowTx, Class::kCommSlowRx, Class::kLinkSlow, Class::kGroupSlow};
      if (!distinguishable || layout.stages() == 2) return {Class::kLinkSlow, Class::kGroupSlow};
      return {};
    case kLinkSlow:
      if (distinguishable) return {};
      return {Class::kGroupSlow, Class::kCommSlowTx, Class::kCommSlowRx};
    case kSwitchCongested:
    case kSwitchReboot:
      return {Class::kLinkSlow, Class::kCommSlowTx, Class::kCommSlowRx};
    case kGarbageCollection:
      return {Class::kPause, Class::kJobRegression};
    case kStorageStall:
      if (fault.targets.empty()) return {Class::kPause, Class::kJobRegression};
      return {Class::kHostSlow};
    case kJobRegression:
      return {Class::kDrift};
    case kDrift:
      return {Class::kJobRegression};
    default:
      return {};
  }
}

}  // namespace lockstep
