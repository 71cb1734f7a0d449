#include "sim/truth.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/culprits.h"
#include "sim/program.h"
#include "sim/world.h"

namespace lockstep {
namespace {

std::vector<int64_t> StepLengths(const ReplayResult& replay) {
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < replay.step_end_ns.size(); ++i) {
    lengths.push_back(replay.step_end_ns[i] - replay.step_begin_ns[i]);
  }
  return lengths;
}

// What the difference of two runs costs, over the steps from `first` on that both finished.
Cost CostBetween(const std::vector<int64_t>& with, const std::vector<int64_t>& without, int32_t first) {
  const size_t end = std::min(with.size(), without.size());
  int64_t sum_with = 0;
  int64_t sum_without = 0;
  int32_t affected = 0;
  for (size_t i = first; i < end; ++i) {
    sum_with += with[i];
    sum_without += without[i];
    if (static_cast<double>(with[i]) > (1 + kAffectedShare) * static_cast<double>(without[i])) ++affected;
  }
  if (sum_with == 0) return {};
  const auto steps = static_cast<double>(end - first);
  return {.slowdown_fraction = static_cast<double>(sum_with - sum_without) / static_cast<double>(sum_with),
          .seconds_per_step = static_cast<double>(sum_with - sum_without) / steps * 1e-9,
          .steps_affected_fraction = affected / steps};
}

class TruthBuilder {
 public:
  TruthBuilder(const JobSpec& job, const Layout& layout, uint64_t seed, absl::Span<const FaultSpec> faults,
               const ReplayResult& replay)
      : job_(job),
        layout_(layout),
        seed_(seed),
        faults_(faults),
        replay_(replay),
        plan_(MakeTrainingPlan(job, layout)) {
    if (!replay.hung) return;
    // Runs without the hang need not go further than the run with it.
    job_.schedule.steps = std::max<int32_t>(1, static_cast<int32_t>(replay.step_end_ns.size()));
  }

  Truth Build() {
    Truth truth;
    truth.step_ns = StepLengths(replay_);
    truth.healthy_step_ns = faults_.empty() ? truth.step_ns : Lengths({});
    truth.hang_ns = replay_.hung ? replay_.hang_ns : 0;
    for (size_t i = 0; i < faults_.size(); ++i) truth.causes.push_back(Cause(i, truth));
    for (const TrueCause& cause : truth.causes) truth.is_negative &= cause.culprits.empty();
    truth.state = State(truth);
    return truth;
  }

 private:
  std::vector<int64_t> Lengths(const std::vector<FaultSpec>& faults) const {
    return StepLengths(Replay(job_, layout_, seed_, faults, nullptr));
  }

  TrueCause Cause(size_t index, const Truth& truth) const {
    const FaultSpec& fault = faults_[index];
    const FaultInfo& info = InfoOf(fault.kind);
    TrueCause cause{.kind = fault.kind, .scope = info.scope, .verdict_class = info.verdict_class};
    cause.culprits = info.hang ? CulpritsOfHang(fault, replay_.hung_ranks, layout_, plan_) : CulpritsOf(fault, layout_);
    if (fault.kind == FaultKind::kStorageStall && fault.targets.empty()) cause.scope = VerdictScope::kJob;
    cause.indistinguishable_hosts = IndistinguishableHosts(fault, replay_.hung_ranks, layout_, plan_);
    cause.acceptable = AcceptableClasses(fault, layout_, cause.indistinguishable_hosts.empty());
    cause.first_step = fault.onset_step;
    cause.last_step = LastStepOf(fault, job_.schedule.steps);
    if (info.hang) {
      cause.last_step = fault.onset_step;
      cause.onset_ns = replay_.hang_ns;
      return cause;
    }
    if (static_cast<size_t>(fault.onset_step) < replay_.step_begin_ns.size()) {
      cause.onset_ns = replay_.step_begin_ns[fault.onset_step];
    }
    if (faults_.size() == 1) {
      cause.cost = CostBetween(truth.step_ns, truth.healthy_step_ns, fault.onset_step);
      cause.marginal_cost = cause.cost;
      return cause;
    }
    std::vector<FaultSpec> others(faults_.begin(), faults_.end());
    others.erase(others.begin() + static_cast<ptrdiff_t>(index));
    cause.cost = CostBetween(Lengths({fault}), truth.healthy_step_ns, fault.onset_step);
    cause.marginal_cost = CostBetween(truth.step_ns, Lengths(others), fault.onset_step);
    return cause;
  }

  JobState State(const Truth& truth) const {
    if (replay_.hung) return JobState::kHung;
    JobState state = JobState::kHealthy;
    for (const TrueCause& cause : truth.causes) {
      if (cause.cost.slowdown_fraction < kAffectedShare) continue;
      if (cause.cost.steps_affected_fraction >= 0.5) return JobState::kSlow;
      state = JobState::kIrregular;
    }
    return state;
  }

  JobSpec job_;
  const Layout& layout_;
  const uint64_t seed_;
  const absl::Span<const FaultSpec> faults_;
  const ReplayResult& replay_;
  const Plan plan_;
};

}  // namespace

Truth WorkOutTruth(const JobSpec& job, const Layout& layout, uint64_t seed, absl::Span<const FaultSpec> faults,
                   const ReplayResult& replay) {
  return TruthBuilder(job, layout, seed, faults, replay).Build();
}

}  // namespace lockstep
