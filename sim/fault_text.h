// A fault as somebody types it: NAME[:TARGET+TARGET...][#COUNT][@STEP][*SEVERITY][~RAMP][/DURATION].
//
// "compute_slow:5@8*0.3" is rank 5, 30 % slower from step 8 on; "host_slow#3" is three hosts of the seed's choice;
// "link_slow:0+4" is the path between hosts 0 and 4. What is left out is drawn, or typical. Several are separated by
// commas. Pure; thread-safe. INVALID_ARGUMENT names the part that cannot be read.

#ifndef LOCKSTEP_SIM_FAULT_TEXT_H_
#define LOCKSTEP_SIM_FAULT_TEXT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {

// At most this many faults in one text, and targets drawn for one fault.
inline constexpr size_t kMaxFaults = 64;
inline constexpr int32_t kMaxDrawnTargets = 20'000;

// Valid faults of `job` (Validate), what is open drawn from `seed`. Empty text = no fault.
absl::StatusOr<std::vector<FaultSpec>> ParseFaults(absl::string_view text, const JobSpec& job, uint64_t seed);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_FAULT_TEXT_H_
