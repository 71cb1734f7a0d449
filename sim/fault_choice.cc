#include "sim/fault_choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sim/layout.h"
#include "sim/targets.h"

namespace lockstep {

absl::Status Validate(const FaultSpec& fault, const JobSpec& job) {
  const FaultInfo& info = InfoOf(fault.kind);
  const auto wrong = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(info.name, ": ", what));
  };
  if (info.target == TargetKind::kJob && !fault.targets.empty()) return wrong("concerns the whole job: no target");
  const int32_t count = TargetCount(info.target, Layout(job));
  for (const int32_t target : fault.targets) {
    if (target < 0 || target >= count) return wrong(absl::StrCat("target ", target, " is not in [0, ", count, ")"));
  }
  if (info.target == TargetKind::kHostPair && (fault.targets.size() % 2 != 0 || count < 2)) {
    return wrong("needs pairs of hosts");
  }
  if (fault.onset_step < 0 || fault.onset_step >= job.schedule.steps)
    return wrong("the onset is not a step of the job");
  if (fault.ramp_steps < 0 || fault.duration_steps < 0 || fault.severity < 0)
    return wrong("negative ramp, duration or severity");
  return absl::OkStatus();
}

FaultSpec RandomFault(FaultKind kind, int32_t target_count, const JobSpec& job, Random& random) {
  FaultSpec fault{.kind = kind};
  fault.targets = RandomTargets(InfoOf(kind).target, target_count, Layout(job), random);
  const int32_t first = std::min(job.recording.first_recorded_step + 1, job.schedule.steps - 1);
  const int32_t room = std::max(1, (job.schedule.steps - first) / 2);
  fault.onset_step = first + static_cast<int32_t>(random.Below(room));
  return fault;
}

}  // namespace lockstep
