#include "sim/second/planting.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "sim/second/recording.h"

namespace lockstep::second {
namespace {

constexpr double kTenth = 0.1;

// Draws where and how much. What it draws does not depend on `harder`, which only scales severities.
class Planter {
 public:
  Planter(const EpisodeKind& kind, const World& world, const Layout& layout, int harder)
      : kind_(kind), world_(world), layout_(layout), harder_(harder), random_(world.seed ^ 0x5EC0'4DFA'017Bu) {
    for (int host = 0; host < layout.hosts(); ++host) {
      if (!IsHidden(host)) hosts_.push_back(host);
    }
    // In a small world everybody may be hidden: then the fault strikes one of them all the same.
    const bool all_hidden = hosts_.empty();
    for (int host = 0; all_hidden && host < layout.hosts(); ++host) hosts_.push_back(host);
  }

  std::vector<Fault> Faults();

 private:
  double Between(double low, double high) { return low + (high - low) * random_.Unit(); }
  int Below(size_t bound) { return static_cast<int>(random_.Below(bound)); }
  bool IsHidden(int host) const;
  int TakeHost();
  int RankOn(int host) { return host * layout_.gpus_per_host() + Below(static_cast<size_t>(layout_.gpus_per_host())); }
  bool Is(absl::string_view name) const { return kind_.name == name; }
  double Slower(double low, double high) { return 1 + (Between(low, high) - 1) * (1 + harder_); }
  double Rate(double low, double high) { return Between(low, high) / (1 + 1.5 * harder_); }

  Fault Draw(FaultKind kind);
  void DrawSlow(Fault& fault);
  void DrawNetwork(Fault& fault);
  void DrawLink(Fault& fault);
  void DrawStructure(Fault& fault);
  void DrawHang(Fault& fault);
  void DrawStuckTransfer(Fault& fault);

  const EpisodeKind& kind_;
  const World& world_;
  const Layout& layout_;
  const int harder_;
  Random random_;
  std::vector<int> hosts_;  // that may still be struck
};

bool Planter::IsHidden(int host) const {
  for (const std::vector<int>& hidden : {SilentHosts(world_), LateHosts(world_), HostsWithoutBegins(world_)}) {
    if (std::binary_search(hidden.begin(), hidden.end(), host)) return true;
  }
  return false;
}

int Planter::TakeHost() {
  const auto at = hosts_.begin() + Below(hosts_.size());
  const int host = *at;
  if (hosts_.size() > 1) hosts_.erase(at);
  return host;
}

std::vector<Fault> Planter::Faults() {
  std::vector<Fault> faults;
  std::vector<FaultKind> kinds = kind_.faults;
  if (Is("two")) {
    constexpr FaultKind kPool[] = {FaultKind::kComputeSlow, FaultKind::kNvlinkSlow, FaultKind::kHostSlow,
                                   FaultKind::kNicRxSlow};
    kinds = {FaultKind::kComputeSlow, kPool[Below(std::size(kPool))]};
  }
  for (const FaultKind kind : kinds) faults.push_back(Draw(kind));
  return faults;
}

Fault Planter::Draw(FaultKind kind) {
  Fault fault{.kind = kind};
  const int steps = world_.calendar.steps;
  fault.onset_step = static_cast<int>(Between(0.2, 0.5) * steps);
  if (IsHang(kind)) {
    fault.onset_step = static_cast<int>(Between(0.4, 0.95) * steps);
    DrawHang(fault);
  } else if (kind >= FaultKind::kStageImbalance) {
    DrawStructure(fault);
  } else if (kind == FaultKind::kLinkSlow) {
    DrawLink(fault);
  } else if (kind >= FaultKind::kNicTxSlow) {
    DrawNetwork(fault);
  } else {
    DrawSlow(fault);
  }
  if (Is("compute_since_start")) fault.onset_step = 0;
  if (Is("compute_sometimes") || Is("nic_sometimes")) fault.probability = Between(0.25, 0.6);
  if (Is("compute_growing")) fault.grow_steps = steps / 3;
  return fault;
}

void Planter::DrawSlow(Fault& fault) {
  if (fault.kind == FaultKind::kHostsSlow) {
    const int count = std::max(1, static_cast<int>(std::lround(kTenth * layout_.hosts())));
    for (int i = 0; i < count; ++i) fault.hosts.push_back(TakeHost());
    fault.severity = Slower(1.15, 1.4);
    return;
  }
  const int host = TakeHost();
  fault.hosts = {host};
  if (fault.kind == FaultKind::kHostSlow) {
    // The host gets slower than the GPUs that it feeds.
    fault.severity = Slower(1.25, 1.8) / world_.host.launch_share;
    return;
  }
  fault.ranks = {RankOn(host)};
  fault.severity = Is("compute_5") ? 1.05 : Is("compute_10") ? Slower(1.08, 1.15) : Slower(1.2, 2);
}

void Planter::DrawNetwork(Fault& fault) {
  const int host = TakeHost();
  fault.hosts = {host};
  fault.severity = Rate(0.12, 0.4);
  if (Is("nic_one_rail")) fault.rail = Below(static_cast<size_t>(world_.network.nics_per_host));
  if (fault.kind != FaultKind::kLeafSlow) return;
  const int pod = host / world_.network.leaf_hosts;
  fault.hosts.clear();
  for (int other = 0; other < layout_.hosts(); ++other) {
    if (other / world_.network.leaf_hosts == pod) fault.hosts.push_back(other);
  }
  if (world_.network.rails) fault.rail = Below(static_cast<size_t>(world_.network.nics_per_host));
}

// Between two neighbouring stages of a pipeline that are on different hosts.
void Planter::DrawLink(Fault& fault) {
  for (int tries = 0; tries < 1000; ++tries) {
    const int rank = Below(static_cast<size_t>(layout_.ranks()));
    Place next = layout_.PlaceOf(rank);
    if (++next.stage >= world_.shape.pipeline) continue;
    fault.hosts = {layout_.HostOf(rank), layout_.HostOf(layout_.RankAt(next))};
    if (fault.hosts[0] != fault.hosts[1] && !IsHidden(fault.hosts[0]) && !IsHidden(fault.hosts[1])) break;
  }
  // The link alone carries less than the adapters could, so that it has to be slower to be felt.
  fault.severity = Rate(0.04, 0.12) / world_.network.nics_per_host;
}

void Planter::DrawStructure(Fault& fault) {
  fault.onset_step = fault.kind == FaultKind::kJobRegression ? fault.onset_step : 0;
  switch (fault.kind) {
    case FaultKind::kStageImbalance:
      fault.stage = Below(static_cast<size_t>(world_.shape.pipeline));
      fault.severity = Between(1.25, 1.7);
      break;
    case FaultKind::kExpertImbalance:
      fault.severity = Between(1.5, 2.2);
      break;
    case FaultKind::kSequenceImbalance:
      fault.severity = Between(0.2, 0.45);
      break;
    case FaultKind::kJobRegression:
      fault.severity = Between(1.08, 1.25);
      break;
    default:
      fault.severity = Between(2, 8);  // seconds of a pause
  }
}

void Planter::DrawHang(Fault& fault) {
  const int host = TakeHost();
  fault.position = Between(0.1, 0.8);
  fault.severity = 1.5;
  fault.ranks = {RankOn(host)};
  const int data = layout_.GroupOf(fault.ranks[0], Role::kData);
  if (fault.kind == FaultKind::kMachineUnreachable) {
    fault.ranks.clear();
    for (int gpu = 0; gpu < layout_.gpus_per_host(); ++gpu) fault.ranks.push_back(host * layout_.gpus_per_host() + gpu);
  }
  if (fault.kind == FaultKind::kMismatch) fault.group = data;
  if (fault.kind == FaultKind::kDeadlock) {
    const std::vector<int>& members = layout_.group(data).members;
    fault.ranks.assign(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2));
  }
  if (fault.kind == FaultKind::kHangInCommunication) DrawStuckTransfer(fault);
}

// A way between two hosts: of a data group's ring, or between stages.
void Planter::DrawStuckTransfer(Fault& fault) {
  for (int tries = 0; tries < 1000; ++tries) {
    const int from = Below(static_cast<size_t>(layout_.ranks()));
    int to = -1;
    if (Is("hang_transfer")) {
      Place next = layout_.PlaceOf(from);
      if (++next.stage >= world_.shape.pipeline) continue;
      to = layout_.RankAt(next);
      fault.group = layout_.GroupBetween(from, to);
    } else {
      fault.group = layout_.GroupOf(from, Role::kData);
      const std::vector<int>& members = layout_.group(fault.group).members;
      const auto member = static_cast<size_t>(layout_.MemberOf(fault.group, from));
      to = members[(member + 1) % members.size()];
    }
    fault.ranks = {from, to};
    const int from_host = layout_.HostOf(from);
    const int to_host = layout_.HostOf(to);
    if (from_host != to_host && !IsHidden(from_host) && !IsHidden(to_host)) return;
  }
}

}  // namespace

const std::vector<EpisodeKind>& EpisodeKinds() {
  const Need across = {.pipeline_across_hosts = true};
  const Need busy = {.busy_adapters = true};
  static const auto* const kAll = new std::vector<EpisodeKind>{
      {"healthy", {}, {}},
      {"compute", {}, {FaultKind::kComputeSlow}},
      {"nic_tx", busy, {FaultKind::kNicTxSlow}},
      {"hang_program", {.hang = true}, {FaultKind::kHangNotEntered}},
      {"host", {}, {FaultKind::kHostSlow}},
      {"stage", {.pipeline_across_hosts = true}, {FaultKind::kStageImbalance}},
      {"healthy_ugly", {.ugly = true}, {}},
      {"compute_5", {}, {FaultKind::kComputeSlow}},
      {"nic_rx", busy, {FaultKind::kNicRxSlow}},
      {"hang_kernel", {.hang = true}, {FaultKind::kHangKernel}},
      {"compute_10", {}, {FaultKind::kComputeSlow}},
      {"nvlink", {.tensor = true}, {FaultKind::kNvlinkSlow}},
      {"expert", {.expert = true}, {FaultKind::kExpertImbalance}},
      {"compute_since_start", {}, {FaultKind::kComputeSlow}},
      {"link", across, {FaultKind::kLinkSlow}},
      // Of a member without records nobody knows whether it has entered.
      {"hang_ring", {.busy_adapters = true, .hang = true, .plain = true}, {FaultKind::kHangInCommunication}},
      {"regression", {}, {FaultKind::kJobRegression}},
      {"compute_sometimes", {}, {FaultKind::kComputeSlow}},
      {"nic_one_rail", busy, {FaultKind::kNicTxSlow}},
      {"hang_transfer", {.pipeline_across_hosts = true, .hang = true}, {FaultKind::kHangInCommunication}},
      {"sequence", {.no_context = true}, {FaultKind::kSequenceImbalance}},
      {"compute_growing", {}, {FaultKind::kComputeSlow}},
      {"leaf", {.busy_adapters = true, .four_leaves = true}, {FaultKind::kLeafSlow}},
      {"mismatch", {.hang = true}, {FaultKind::kMismatch}},
      {"pauses", {}, {FaultKind::kPauses}},
      {"two", {.tensor = true, .busy_adapters = true, .least_hosts = 4}, {FaultKind::kComputeSlow}},
      {"deadlock", {.data_and_more = true, .hang = true}, {FaultKind::kDeadlock}},
      {"tenth", {.least_hosts = 10}, {FaultKind::kHostsSlow}},
      {"dead_process", {.hang = true}, {FaultKind::kProcessDead}},
      {"dead_host", {.hang = true}, {FaultKind::kMachineUnreachable}},
      {"nic_sometimes", busy, {FaultKind::kNicTxSlow}},
  };
  return *kAll;
}

const EpisodeKind* FindKind(absl::string_view name) {
  for (const EpisodeKind& kind : EpisodeKinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::vector<Fault> Plant(const EpisodeKind& kind, const World& world, const Layout& layout, int harder) {
  return Planter(kind, world, layout, harder).Faults();
}

}  // namespace lockstep::second
