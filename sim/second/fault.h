// What goes wrong in an episode, or looks as if: kinds, where they strike, and what they do to work, hosts and
// adapters.
//
// Plain values and pure functions; thread-compatible.

#ifndef LOCKSTEP_SIM_SECOND_FAULT_H_
#define LOCKSTEP_SIM_SECOND_FAULT_H_

#include <cstdint>
#include <vector>

#include "sim/second/layout.h"
#include "sim/second/world.h"

namespace lockstep::second {

enum class FaultKind : uint8_t {
  kComputeSlow,
  kHostSlow,
  kHostsSlow,  // GPUs of a tenth of the hosts
  kNicTxSlow,
  kNicRxSlow,
  kLeafSlow,
  kNvlinkSlow,
  kLinkSlow,
  kStageImbalance,
  kExpertImbalance,
  kSequenceImbalance,
  kJobRegression,
  kPauses,
  kHangNotEntered,  // the program stands still
  kHangKernel,      // a kernel that computes never ends
  kHangInCommunication,
  kMismatch,
  kDeadlock,
  kProcessDead,
  kMachineUnreachable,
};

bool IsHang(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kComputeSlow;
  // Times are multiplied by it (computing, launching), rates are (adapters, links), or it is the spread of an
  // imbalance.
  double severity = 1;
  int onset_step = 0;
  double probability = 1;  // of each step since onset
  int grow_steps = 0;      // until the severity is reached
  std::vector<int> ranks;
  std::vector<int> hosts;
  int rail = -1;  // adapter of the hosts; -1 = all of them
  int stage = -1;
  int group = -1;         // communicator that gets stuck
  double position = 0.5;  // share of the step after which a hang strikes

  // Whether it strikes in `step`. Draws by the seed of the world.
  bool IsActive(const World& world, int step) const;
  // The severity in that step; 1 = none.
  double SeverityAt(const World& world, int step) const;
};

// What faults do to one rank's step; 1 = nothing.
double ComputeFactor(const std::vector<Fault>& faults, const World& world, const Layout& layout, int rank, int step);
double HostFactor(const std::vector<Fault>& faults, const World& world, int host, int step);

// Whether a rank enters another operation than the others of the group do.
bool Mismatches(const std::vector<Fault>& faults, int rank, int group, int step);

// Whether what a group does in that step never ends. `source` and `destination` are the ranks of a Send and its Recv;
// either is -1 for operations of the whole group.
bool GetsStuck(const std::vector<Fault>& faults, int group, int step, int source, int destination);

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_FAULT_H_
