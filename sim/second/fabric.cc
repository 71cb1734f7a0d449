#include "sim/second/fabric.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "sim/second/draws.h"

namespace lockstep::second {
namespace {

std::vector<Load> LoadsIn(const std::map<int, double>& sum) {
  std::vector<Load> loads;
  for (const auto& [resource, bytes] : sum) loads.push_back({resource, bytes});
  return loads;
}

}  // namespace

Fabric::Fabric(const World& world, const Layout& layout, const std::vector<Fault>& faults)
    : world_(world), layout_(layout), nics_(world.network.nics_per_host) {
  const Network& network = world.network;
  const int hosts = layout.hosts();
  healthy_rates_.assign(static_cast<size_t>(hosts * nics_ * 2), network.nic_rate);
  first_nvlink_ = static_cast<int>(healthy_rates_.size());
  healthy_rates_.resize(healthy_rates_.size() + static_cast<size_t>(layout.ranks()) * 2, network.nvlink_rate);
  first_leaf_ = static_cast<int>(healthy_rates_.size());
  const int pods = (hosts + network.leaf_hosts - 1) / network.leaf_hosts;
  const int adapters = network.leaf_hosts * (network.rails ? 1 : nics_);
  const double leaf_rate = network.nic_rate * adapters / network.oversubscription;
  healthy_rates_.resize(healthy_rates_.size() + static_cast<size_t>(pods * nics_) * 2, leaf_rate);
  for (const Fault& fault : faults) {
    if (fault.kind != FaultKind::kLinkSlow) continue;
    for (const auto& [from, to] :
         {std::pair(fault.hosts[0], fault.hosts[1]), std::pair(fault.hosts[1], fault.hosts[0])}) {
      watched_links_[{from, to}] = static_cast<int>(healthy_rates_.size());
      healthy_rates_.push_back(network.nic_rate * nics_);
    }
  }
  rates_ = healthy_rates_;
}

int Fabric::NicOf(int rank) const { return layout_.GpuOf(rank) * nics_ / layout_.gpus_per_host(); }

int Fabric::LeafOut(int host, int nic) const {
  const int pod = host / world_.network.leaf_hosts;
  return first_leaf_ + (pod * nics_ + (world_.network.rails ? nic : 0)) * 2;
}

double Fabric::PathFactor(int from, int to) const {
  return 1 + world_.network.path_spread * Draws(world_.seed).Unit(Topic::kPath, {from, to});
}

void Fabric::AddInside(int from, int to, double weight, Sum& sum) const {
  sum[NvlinkOut(from)] += weight;
  sum[NvlinkIn(to)] += weight;
}

void Fabric::AddOutside(int from_host, int from_nic, int to_host, int to_nic, double weight, Sum& sum) const {
  sum[Tx(from_host, from_nic)] += weight * PathFactor(from_host, to_host);
  sum[Rx(to_host, to_nic)] += weight;
  sum[LeafOut(from_host, from_nic)] += weight;
  sum[LeafIn(to_host, to_nic)] += weight;
  const auto watched = watched_links_.find({from_host, to_host});
  if (watched != watched_links_.end()) sum[watched->second] += weight;
}

std::map<int, std::vector<int>> Fabric::NicsByHost(const std::vector<int>& members) const {
  std::map<int, std::vector<int>> nics;
  for (const int rank : members) {
    std::vector<int>& own = nics[layout_.HostOf(rank)];
    if (own.empty() || own.back() != NicOf(rank)) own.push_back(NicOf(rank));
  }
  return nics;
}

void Fabric::AddEdge(int from, int to, double weight, const std::map<int, std::vector<int>>& nics, Sum& sum) const {
  const int from_host = layout_.HostOf(from);
  const int to_host = layout_.HostOf(to);
  if (from_host == to_host) return AddInside(from, to, weight, sum);
  const std::vector<int>& out = nics.at(from_host);
  const std::vector<int>& in = nics.at(to_host);
  const size_t channels = std::max(out.size(), in.size());
  for (size_t i = 0; i < channels; ++i) {
    AddOutside(from_host, out[i % out.size()], to_host, in[i % in.size()], weight / static_cast<double>(channels), sum);
  }
}

void Fabric::AddRing(const std::vector<int>& members, double weight, Sum& sum) const {
  const auto nics = NicsByHost(members);
  for (size_t i = 0; i < members.size(); ++i) AddEdge(members[i], members[(i + 1) % members.size()], weight, nics, sum);
}

// A binary tree, up and down: what a member sends to its parent comes back reduced.
void Fabric::AddTree(const std::vector<int>& members, Sum& sum) const {
  const auto nics = NicsByHost(members);
  for (size_t i = 1; i < members.size(); ++i) {
    AddEdge(members[i], members[(i - 1) / 2], 1, nics, sum);
    AddEdge(members[(i - 1) / 2], members[i], 1, nics, sum);
  }
}

void Fabric::AddEachToEach(const std::vector<int>& members, Sum& sum) const {
  const double weight = 1.0 / static_cast<double>(members.size());
  for (const int from : members) {
    for (const int to : members) {
      if (from == to) continue;
      if (layout_.HostOf(from) == layout_.HostOf(to)) {
        AddInside(from, to, weight, sum);
      } else {
        AddOutside(layout_.HostOf(from), NicOf(from), layout_.HostOf(to), NicOf(to), weight, sum);
      }
    }
  }
}

std::vector<Load> Fabric::LoadsOf(OperationKind kind, const Group& group) const {
  const auto size = static_cast<double>(group.members.size());
  const double once_around = (size - 1) / size;
  Sum sum;
  if (kind == OperationKind::kAllToAll) {
    AddEachToEach(group.members, sum);
  } else if (kind == OperationKind::kAllReduce && world_.network.trees) {
    AddTree(group.members, sum);
  } else {
    AddRing(group.members, kind == OperationKind::kAllReduce ? 2 * once_around : once_around, sum);
  }
  return LoadsIn(sum);
}

std::vector<Load> Fabric::LoadsBetween(int source, int destination) const {
  Sum sum;
  AddEdge(source, destination, 1, NicsByHost({std::min(source, destination), std::max(source, destination)}), sum);
  return LoadsIn(sum);
}

double Fabric::NanosPerByte(const std::vector<Load>& loads) const {
  double slowest = 0;
  for (const Load& load : loads) {
    slowest = std::max(slowest, load.bytes_per_byte / healthy_rates_[static_cast<size_t>(load.resource)]);
  }
  return slowest;
}

std::vector<int> Fabric::Touched(const Fault& fault) const {
  std::vector<int> touched;
  for (const int host : fault.hosts) {
    for (int nic = 0; nic < nics_; ++nic) {
      if (fault.rail >= 0 && nic != fault.rail) continue;
      if (fault.kind == FaultKind::kNicTxSlow) touched.push_back(Tx(host, nic));
      if (fault.kind == FaultKind::kNicRxSlow) touched.push_back(Rx(host, nic));
      if (fault.kind == FaultKind::kLeafSlow) touched.insert(touched.end(), {LeafOut(host, nic), LeafIn(host, nic)});
    }
    for (int gpu = 0; fault.kind == FaultKind::kNvlinkSlow && gpu < layout_.gpus_per_host(); ++gpu) {
      const int rank = host * layout_.gpus_per_host() + gpu;
      touched.insert(touched.end(), {NvlinkOut(rank), NvlinkIn(rank)});
    }
  }
  if (fault.kind == FaultKind::kLinkSlow) {
    touched.push_back(watched_links_.at({fault.hosts[0], fault.hosts[1]}));
    touched.push_back(watched_links_.at({fault.hosts[1], fault.hosts[0]}));
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

std::vector<int> Fabric::Apply(const Fault& fault, double severity) {
  std::vector<int> touched = Touched(fault);
  for (const int resource : touched) {
    rates_[static_cast<size_t>(resource)] = healthy_rates_[static_cast<size_t>(resource)] * severity;
  }
  return touched;
}

}  // namespace lockstep::second
