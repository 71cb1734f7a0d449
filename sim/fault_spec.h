// What is made to go wrong in a simulated job, or is made to look as if it did.
//
// One FaultSpec is one cause, with one or many targets: two unrelated faults are two specs; a tenth of the fleet with
// the same trouble is one spec with many targets. Kinds follow the table of 24 fault and irregularity classes.
// Pure values; thread-compatible.

#ifndef LOCKSTEP_SIM_FAULT_SPEC_H_
#define LOCKSTEP_SIM_FAULT_SPEC_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

enum class FaultKind : uint8_t {
  kGpuLost,             // 1: fatal Xid: the GPU stops, its process waits for ever
  kProcessDead,         // 2
  kMachineUnreachable,  // 3: neither records nor reports from the host
  kNotEntered,          // 4: the rank's program stops issuing work (data loader, lock)
  kGpuStuck,            // 4: the host goes on issuing, the GPU does not
  kTransferStuck,       // 5: all enter, the transfer never ends
  kMismatch,            // 6: another operation, or size, at the same sequence number
  kDeadlock,            // 7: ranks enter two groups in different order
  kComputeSlow,         // 8
  kClockThrottled,      // 8, and the clock and power counters say so
  kPcieDegraded,        // 9: compute waits for the host link, and so does the GPU's NIC traffic
  kNicSendSlow,         // 10
  kNicReceiveSlow,      // 11
  kLinkSlow,            // 12: one path between two hosts
  kSwitchCongested,     // 12: everything that leaves or enters one leaf
  kNvlinkSlow,          // 13
  kHostSlow,            // 14: CPU contention: work is issued late on all ranks of the host
  kGarbageCollection,   // 15: stalls that rotate over the ranks
  kStorageStall,        // 16: the input of one host, or of all (no target), comes late
  kSequenceImbalance,   // 17
  kStageImbalance,      // 18
  kExpertImbalance,     // 19
  kJobRegression,       // 20
  kDrift,               // 21
  kSwitchReboot,        // 22: all that passes one leaf stops for a moment
  kSilentCorruption,    // 23: leaves no mark in timing or counters: the right answer is silence
  kPause,               // 24: a pause of the whole job, announced by nobody
};
inline constexpr int32_t kFaultKinds = 27;

enum class TargetKind : uint8_t { kJob, kRank, kHost, kNic, kHostPair, kLeaf };

// What is known of a kind of fault, whatever job it hits.
struct FaultInfo {
  FaultKind kind;
  absl::string_view name;  // "compute_slow"
  int32_t table_row;       // 1 to 24
  TargetKind target;       // what FaultSpec::targets counts
  bool hang;               // the job stops for good
  bool negative;           // nobody is to blame: no machine and no link may be accused
  VerdictScope scope;      // of the right verdict
  VerdictClass verdict_class;
  double typical_severity;  // see FaultSpec::severity
  absl::string_view severity_meaning;
};

// By FaultKind.
absl::Span<const FaultInfo> FaultTable();
const FaultInfo& InfoOf(FaultKind kind);
const FaultInfo* FindFault(absl::string_view name);  // nullptr = unknown

struct FaultSpec {
  FaultKind kind = FaultKind::kComputeSlow;
  // Rank for kRank and kNic (the NIC of that rank's GPU), host index, leaf index, or (kHostPair) the two hosts one
  // after the other, pair by pair. Empty = the whole job where the kind allows it, else chosen from the seed.
  std::vector<int32_t> targets;
  int32_t onset_step = 8;
  int32_t ramp_steps = 0;      // severity grows from nothing over so many steps
  int32_t duration_steps = 0;  // 0 = to the end
  // Slow kinds: the time that the fault lengthens is multiplied by (1 + severity): 0.1 = 10 % slower, 9 = ten times.
  // kSequenceImbalance and kExpertImbalance: share of variation. Stalls and pauses: seconds. Hangs: unused.
  double severity = 0;  // 0 = the kind's typical severity
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FAULT_SPEC_H_
