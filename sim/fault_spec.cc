#include "sim/fault_spec.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace lockstep {
namespace {

using enum FaultKind;
using Scope = VerdictScope;
using Class = VerdictClass;

constexpr absl::string_view kNoSeverity = "unused";
constexpr absl::string_view kSlower = "extra share of the time that the fault lengthens: 0.3 = 30 % slower";
constexpr absl::string_view kVariation = "standard deviation as a share of the mean";
constexpr absl::string_view kSeconds = "seconds";

constexpr FaultInfo kTable[] = {
    {kGpuLost, "gpu_lost", 1, TargetKind::kRank, true, false, Scope::kMachine, Class::kGpuFault, 1, kNoSeverity},
    {kProcessDead, "process_dead", 2, TargetKind::kRank, true, false, Scope::kMachine, Class::kProcessDead, 1,
     kNoSeverity},
    {kMachineUnreachable, "machine_unreachable", 3, TargetKind::kHost, true, false, Scope::kMachine,
     Class::kMachineUnreachable, 1, kNoSeverity},
    {kNotEntered, "hang_not_entered", 4, TargetKind::kRank, true, false, Scope::kMachine, Class::kHangNotEntered, 1,
     kNoSeverity},
    {kGpuStuck, "gpu_stuck", 4, TargetKind::kRank, true, false, Scope::kMachine, Class::kHangNotEntered, 1,
     kNoSeverity},
    {kTransferStuck, "hang_in_communication", 5, TargetKind::kNic, true, false, Scope::kNetwork,
     Class::kHangInCommunication, 1, kNoSeverity},
    {kMismatch, "collective_mismatch", 6, TargetKind::kRank, true, false, Scope::kSoftware, Class::kCollectiveMismatch,
     1, kNoSeverity},
    {kDeadlock, "deadlock", 7, TargetKind::kRank, true, false, Scope::kSoftware, Class::kDeadlock, 1, kNoSeverity},
    {kComputeSlow, "compute_slow", 8, TargetKind::kRank, false, false, Scope::kMachine, Class::kComputeSlow, 0.3,
     kSlower},
    {kClockThrottled, "clock_throttled", 8, TargetKind::kRank, false, false, Scope::kMachine, Class::kClockThrottled,
     0.4, kSlower},
    {kPcieDegraded, "pcie_degraded", 9, TargetKind::kRank, false, false, Scope::kMachine, Class::kPcieDegraded, 1.0,
     "extra share of the GPU's NIC time; a fifth of it on its compute"},
    {kNicSendSlow, "nic_send_slow", 10, TargetKind::kNic, false, false, Scope::kNetwork, Class::kCommSlowTx, 6.0,
     kSlower},
    {kNicReceiveSlow, "nic_receive_slow", 11, TargetKind::kNic, false, false, Scope::kNetwork, Class::kCommSlowRx, 6.0,
     kSlower},
    {kLinkSlow, "link_slow", 12, TargetKind::kHostPair, false, false, Scope::kNetwork, Class::kLinkSlow, 6.0, kSlower},
    {kSwitchCongested, "switch_congested", 12, TargetKind::kLeaf, false, false, Scope::kNetwork, Class::kGroupSlow, 5.0,
     kSlower},
    {kNvlinkSlow, "nvlink_slow", 13, TargetKind::kRank, false, false, Scope::kMachine, Class::kNvlinkSlow, 9.0,
     kSlower},
    {kHostSlow, "host_slow", 14, TargetKind::kHost, false, false, Scope::kMachine, Class::kHostSlow, 4.0,
     "extra share of the time to issue work: 4 = five times as long"},
    {kGarbageCollection, "garbage_collection", 15, TargetKind::kJob, false, true, Scope::kSoftware, Class::kHostSlow,
     0.15, "seconds of each stall, which hits a few ranks of every step, each time others"},
    {kStorageStall, "storage_stall", 16, TargetKind::kHost, false, false, Scope::kMachine, Class::kStorageStall, 0.5,
     "seconds that the input of a step comes late"},
    {kSequenceImbalance, "sequence_imbalance", 17, TargetKind::kJob, false, true, Scope::kStructural,
     Class::kSequenceImbalance, 0.25, kVariation},
    {kStageImbalance, "stage_imbalance", 18, TargetKind::kJob, false, true, Scope::kStructural, Class::kStageImbalance,
     0.4, "extra share of the last stage's compute"},
    {kExpertImbalance, "expert_imbalance", 19, TargetKind::kJob, false, true, Scope::kStructural,
     Class::kExpertImbalance, 0.6, "extra share of the hot experts' compute and traffic"},
    {kJobRegression, "job_regression", 20, TargetKind::kJob, false, true, Scope::kJob, Class::kJobRegression, 0.15,
     "extra share of all compute"},
    {kDrift, "drift", 21, TargetKind::kJob, false, true, Scope::kJob, Class::kDrift, 0.06,
     "amplitude of the slow wave, as a share of all compute"},
    {kSwitchReboot, "switch_reboot", 22, TargetKind::kLeaf, false, false, Scope::kNetwork, Class::kGroupSlow, 3.0,
     "seconds that transfers through the leaf stand still, once in each affected step"},
    {kSilentCorruption, "silent_corruption", 23, TargetKind::kRank, false, true, Scope::kUnknown,
     Class::kCounterOutlier, 1, kNoSeverity},
    {kPause, "pause", 24, TargetKind::kJob, false, true, Scope::kJob, Class::kPause, 20.0, kSeconds},
};
static_assert(std::size(kTable) == kFaultKinds);

}  // namespace

absl::Span<const FaultInfo> FaultTable() { return kTable; }

const FaultInfo& InfoOf(FaultKind kind) {
  const FaultInfo& info = kTable[static_cast<size_t>(kind)];
  CHECK(info.kind == kind);
  return info;
}

const FaultInfo* FindFault(absl::string_view name) {
  const auto found = std::find_if(std::begin(kTable), std::end(kTable), [&](const auto& i) { return i.name == name; });
  return found == std::end(kTable) ? nullptr : &*found;
}

}  // namespace lockstep
