#include "detector/verdict/job_state.h"

#include "detector/verdict/abstention.h"

namespace lockstep {
namespace {

constexpr double kOften = 0.5;  // of the steps

const SlowWithoutCause* WithoutCause(const Verdict& verdict) { return FindReason<SlowWithoutCause>(verdict); }

// Of the steps, in which the finding costs something.
double ShareOfSteps(const Verdict& verdict) {
  if (const SlowWithoutCause* const unknown = WithoutCause(verdict)) return unknown->share;
  const bool costs = verdict.cost.any() && !IsPlanned(verdict);
  return costs ? verdict.cost.steps_affected_fraction : -1;
}

}  // namespace

bool IsSlowWithoutCause(const Verdict& verdict) { return WithoutCause(verdict) != nullptr; }

bool IsOftenSlowWithoutCause(const Verdict& verdict) {
  const SlowWithoutCause* const unknown = WithoutCause(verdict);
  return unknown != nullptr && unknown->share >= kOften;
}

JobState StateWith(const std::vector<Verdict>& verdicts, JobState state) {
  for (const Verdict& verdict : verdicts) {
    if (IsHang(verdict.verdict_class)) return JobState::kHung;
    const double share = ShareOfSteps(verdict);
    if (share < 0) continue;
    if (state != JobState::kSlow) state = share >= kOften ? JobState::kSlow : JobState::kIrregular;
  }
  return state;
}

}  // namespace lockstep
