// How long the transfer of an operation takes under the conditions of a phase.
//
// Transfer time of a collective: a ring over the members, so that the slowest NIC, path or NVLink of any member decides
// for all (Patarasu & Yuan 2009); AllToAll: each member waits for its own exchanges. Not thread-safe.

#ifndef LOCKSTEP_SIM_NETWORK_COST_H_
#define LOCKSTEP_SIM_NETWORK_COST_H_

#include <array>
#include <cstdint>
#include <vector>

#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/program.h"
#include "sim/step_conditions.h"

namespace lockstep {

class NetworkCost {
 public:
  // `layout` must outlive this.
  NetworkCost(const JobSpec& job, const Layout& layout);

  // From now on under these conditions, which must outlive the next calls; `step_begin_ns` and `usual_step_ns` place
  // the windows in which a leaf stands still.
  void Use(const StepConditions& conditions, int64_t step_begin_ns, int64_t usual_step_ns);

  // Of a collective of a group without noise.
  int64_t CollectiveNanos(const Instruction& operation, int32_t group) const;

  // Of a member of an AllToAll, as a multiple of CollectiveNanos; 1 unless a single path is slow.
  double MemberFactor(const Instruction& operation, int32_t group, int32_t rank) const;

  // Of one Send/Recv.
  int64_t TransferNanos(uint64_t bytes, int32_t source, int32_t target) const;

  // When a transfer ends that would run over [begin_ns, end_ns) if no leaf stood still.
  int64_t AfterFreezes(GroupKind kind, int32_t group, int64_t begin_ns, int64_t end_ns) const;
  int64_t AfterFreezes(int32_t source, int32_t target, int64_t begin_ns, int64_t end_ns) const;

  bool has_freezes() const { return !freezes_.empty(); }

 private:
  struct Group {
    bool crosses_hosts = false;
    float nic = 1;
    float nvlink = 1;
  };
  struct Freeze {
    int32_t leaf;
    int64_t begin_ns;
    int64_t end_ns;
  };

  void RateGroup(GroupKind kind, int32_t group);
  double PathFactor(int32_t source, int32_t target) const;
  double PairFactor(int32_t first_host, int32_t second_host) const;

  const JobSpec job_;
  const Layout& layout_;
  std::array<std::vector<Group>, kGroupKinds> groups_;
  std::vector<Freeze> freezes_;
  const StepConditions* conditions_ = nullptr;
  bool rated_ = false;  // some factor of groups_ is not 1
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_NETWORK_COST_H_
