#include "sim/replay.h"

#include <algorithm>
#include <cstddef>

#include "sim/phase_runner.h"
#include "sim/program.h"
#include "sim/world.h"

namespace lockstep {
namespace {

struct Plans {
  Plan training;
  Plan evaluation;
  Plan checkpoint;

  const Plan& For(PhaseKind kind) const {
    if (kind == PhaseKind::kEvaluation) return evaluation;
    return kind == PhaseKind::kCheckpoint ? checkpoint : training;
  }
};

Plans MakePlans(const JobSpec& job, const Layout& layout) {
  Plans plans{.training = MakeTrainingPlan(job, layout)};
  if (job.schedule.evaluate_every > 0) plans.evaluation = MakeEvaluationPlan(job, layout);
  if (job.schedule.checkpoint_every > 0) plans.checkpoint = MakeCheckpointPlan(job, layout);
  return plans;
}

// Rows long enough for all recorded phases up to `last_step`: nothing happens after the step in which a job hangs.
std::vector<size_t> RecordsPerStage(const JobSpec& job, const Plans& plans, int32_t last_step) {
  std::vector<size_t> records(plans.training.stages.size(), 0);
  for (const Phase& phase : PhasesOf(job.schedule)) {
    if (phase.step < job.recording.first_recorded_step || phase.step > last_step) continue;
    const Plan& plan = plans.For(phase.kind);
    for (size_t stage = 0; stage < records.size(); ++stage) records[stage] += plan.stages[stage].records;
  }
  return records;
}

int32_t LastStep(const JobSpec& job, absl::Span<const FaultSpec> faults) {
  int32_t last = job.schedule.steps - 1;
  for (const FaultSpec& fault : faults) {
    // A job without the place where this kind of hang happens goes on to its end.
    if (InfoOf(fault.kind).hang && fault.kind != FaultKind::kDeadlock) last = std::min(last, fault.onset_step);
  }
  return last;
}

}  // namespace

ReplayResult Replay(const JobSpec& job, const Layout& layout, uint64_t seed, absl::Span<const FaultSpec> faults,
                    RecordTable* records) {
  const Plans plans = MakePlans(job, layout);
  World world(job, layout, seed);
  PhaseRunner runner(job, layout, seed);
  std::vector<RecordRows> rows;
  if (records != nullptr) rows.emplace_back(layout, RecordsPerStage(job, plans, LastStep(job, faults)), records);
  ReplayResult result;
  int64_t usual_step_ns = 0;
  for (const Phase& phase : PhasesOf(job.schedule)) {
    const Plan& plan = plans.For(phase.kind);
    const bool recorded = !rows.empty() && phase.step >= job.recording.first_recorded_step;
    const int64_t begin_ns = runner.end_ns();
    runner.Run(plan, world.At(phase, faults, plan), phase.number, usual_step_ns, recorded ? rows.data() : nullptr);
    if (runner.end_ns() >= kNever) {
      result.hung = true;
      result.hang_ns = runner.hang_ns();
      result.hung_ranks = runner.hung();
      break;
    }
    if (phase.kind != PhaseKind::kStep) continue;
    usual_step_ns = runner.end_ns() - begin_ns;
    result.step_begin_ns.push_back(begin_ns);
    result.step_end_ns.push_back(runner.end_ns());
  }
  return result;
}

}  // namespace lockstep
