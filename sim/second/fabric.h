// The network of a fleet: which adapters, NVLinks and switches an operation loads, and what each can carry.
//
// A load is how many bytes cross a resource for every byte of the operation's size. Rings load the way out of each
// member to the next; members of one host spread what leaves it over the adapters of all of them. Immutable but for
// the rates, which faults change; not thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_FABRIC_H_
#define LOCKSTEP_SIM_SECOND_FABRIC_H_

#include <map>
#include <utility>
#include <vector>

#include "detector/model/operation_kind.h"
#include "sim/second/fault.h"
#include "sim/second/layout.h"
#include "sim/second/world.h"

namespace lockstep::second {

struct Load {
  int resource = -1;
  double bytes_per_byte = 0;
};

class Fabric {
 public:
  // Keeps references to both. Links that `faults` slow become resources of their own.
  Fabric(const World& world, const Layout& layout, const std::vector<Fault>& faults);

  // Of one operation of a whole group, each resource once.
  std::vector<Load> LoadsOf(OperationKind kind, const Group& group) const;
  // Of a Send and its Recv.
  std::vector<Load> LoadsBetween(int source, int destination) const;

  int resources() const { return static_cast<int>(rates_.size()); }
  double rate(int resource) const { return rates_[static_cast<size_t>(resource)]; }

  // How long a byte takes on healthy resources that nobody else uses.
  double NanosPerByte(const std::vector<Load>& loads) const;

  // Lets `fault` have its effect, or takes it away (severity 1). Returns the resources that changed.
  std::vector<int> Apply(const Fault& fault, double severity);

 private:
  using Sum = std::map<int, double>;

  int NicOf(int rank) const;
  int Tx(int host, int nic) const { return (host * nics_ + nic) * 2; }
  int Rx(int host, int nic) const { return Tx(host, nic) + 1; }
  int NvlinkOut(int rank) const { return first_nvlink_ + rank * 2; }
  int NvlinkIn(int rank) const { return NvlinkOut(rank) + 1; }
  int LeafOut(int host, int nic) const;
  int LeafIn(int host, int nic) const { return LeafOut(host, nic) + 1; }
  double PathFactor(int from, int to) const;
  void AddInside(int from, int to, double weight, Sum& sum) const;
  void AddOutside(int from_host, int from_nic, int to_host, int to_nic, double weight, Sum& sum) const;
  void AddEdge(int from, int to, double weight, const std::map<int, std::vector<int>>& nics, Sum& sum) const;
  std::map<int, std::vector<int>> NicsByHost(const std::vector<int>& members) const;
  void AddRing(const std::vector<int>& members, double weight, Sum& sum) const;
  void AddTree(const std::vector<int>& members, Sum& sum) const;
  void AddEachToEach(const std::vector<int>& members, Sum& sum) const;
  std::vector<int> Touched(const Fault& fault) const;

  const World& world_;
  const Layout& layout_;
  const int nics_;
  int first_nvlink_ = 0;
  int first_leaf_ = 0;
  std::map<std::pair<int, int>, int> watched_links_;  // (from host, to host) -> resource
  std::vector<double> healthy_rates_;
  std::vector<double> rates_;
};

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_FABRIC_H_
