// The state of the world during one phase of a job: how fast every GPU, host, NIC and path is just then.
//
// Noise and faults meet here and nowhere else: the replay only reads factors. Factors multiply durations (1 = healthy).
// Pure values; thread-compatible.

#ifndef LOCKSTEP_SIM_STEP_CONDITIONS_H_
#define LOCKSTEP_SIM_STEP_CONDITIONS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/fault_spec.h"

namespace lockstep {

// A time that never comes. Sums of a few durations with it do not overflow.
inline constexpr int64_t kNever = int64_t{1} << 61;

struct HostPair {
  int32_t first = -1;
  int32_t second = -1;
  double factor = 1;
};

// Transfers that pass this leaf stand still during the window, which begins at a share of the usual step.
struct LeafFreeze {
  int32_t leaf = -1;
  double begin_share = 0;
  int64_t length_ns = 0;
};

struct NetworkConditions {
  bool any = false;             // false: everything below is empty and all paths are healthy
  std::vector<float> send;      // by rank: of its GPU's NIC
  std::vector<float> receive;   // by rank
  std::vector<float> nvlink;    // by rank
  std::vector<float> leaf;      // by leaf: of what enters or leaves it
  std::vector<HostPair> pairs;  // both directions
  std::vector<LeafFreeze> freezes;
};

// The host of a rank stops for a while before it issues one instruction.
struct HostStall {
  int32_t instruction = -1;  // -1 = none
  int64_t length_ns = 0;
};

struct InjectedHang {
  FaultKind kind = FaultKind::kNotEntered;
  int32_t rank = -1;
  int32_t instruction = -1;  // of the rank's stage program
};

struct StepConditions {
  double common = 1;              // of all compute
  std::vector<float> compute;     // by rank
  std::vector<float> issue;       // by rank: host time to issue work
  std::vector<int64_t> input_ns;  // by rank
  std::vector<HostStall> stalls;  // by rank; empty = none
  std::vector<float> stage;       // by stage
  std::vector<float> sequence;    // by data index * microbatches + microbatch; empty = 1
  std::vector<float> expert;      // by expert index, of compute; empty = 1
  double expert_traffic = 1;      // of AllToAll, which waits for the hottest expert
  NetworkConditions network;
  std::vector<InjectedHang> hangs;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_STEP_CONDITIONS_H_
