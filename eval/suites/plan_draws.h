// What the recipes of several suites draw from. Pure functions and constants; immutable.

#ifndef LOCKSTEP_EVAL_SUITES_PLAN_DRAWS_H_
#define LOCKSTEP_EVAL_SUITES_PLAN_DRAWS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {

// One device or host that is slow.
inline constexpr FaultKind kSlowKinds[] = {
    FaultKind::kComputeSlow, FaultKind::kClockThrottled, FaultKind::kPcieDegraded,
    FaultKind::kNicSendSlow, FaultKind::kNicReceiveSlow, FaultKind::kLinkSlow,
    FaultKind::kNvlinkSlow,  FaultKind::kHostSlow,       FaultKind::kStorageStall};

inline constexpr FaultKind kHangKinds[] = {
    FaultKind::kGpuLost,  FaultKind::kProcessDead,   FaultKind::kMachineUnreachable, FaultKind::kNotEntered,
    FaultKind::kGpuStuck, FaultKind::kTransferStuck, FaultKind::kMismatch,           FaultKind::kDeadlock};

template <size_t kSize, typename T>
T PickFrom(const T (&choices)[kSize], Random& random) {
  return choices[random.Below(kSize)];
}

inline double LogUniform(double low, double high, Random& random) { return low * std::pow(high / low, random.Unit()); }

// Severity within a factor of two of the typical one.
FaultSpec SpreadFault(FaultKind kind, int32_t targets, const JobSpec& job, Random& random);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SUITES_PLAN_DRAWS_H_
