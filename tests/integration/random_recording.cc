#include "tests/integration/random_recording.h"

#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "sim/layout.h"
#include "sim/program.h"
#include "sim/record_rows.h"
#include "sim/recorder.h"
#include "sim/replay.h"

namespace lockstep {
namespace {

int32_t Pick(Random& random, const std::vector<int32_t>& choices) { return choices[random.Below(choices.size())]; }

}  // namespace

JobSpec RandomSmallJob(Random& random) {
  JobSpec job;
  Parallelism& p = job.parallelism;
  p.tensor = Pick(random, {1, 2, 4});
  p.context = Pick(random, {1, 1, 2});
  p.pipeline = Pick(random, {1, 2, 3});
  p.data = Pick(random, {2, 3, 4});
  if (p.gpus() < 8) p.data = 8;
  p.expert = p.data % 2 == 0 ? Pick(random, {1, 2}) : 1;
  p.virtual_stages = p.pipeline > 1 ? Pick(random, {1, 2}) : 1;
  p.sequence_parallel = random.Below(2) == 0;
  p.sharded_optimizer = random.Below(3) != 0;
  job.gpus_per_host = Pick(random, {4, 8});
  job.hosts_per_leaf = 2;
  job.workload.microbatches = p.pipeline * Pick(random, {1, 2});
  // One call of an unsharded data group marks the step, several do not.
  job.workload.gradient_buckets = p.sharded_optimizer ? Pick(random, {1, 2, 4}) : 1;
  job.recording.tensor_operations = Pick(random, {0, 1, 2});
  job.schedule.steps = Pick(random, {8, 11});
  job.schedule.checkpoint_every = Pick(random, {0, 0, 3});
  job.schedule.evaluate_every = Pick(random, {0, 0, 4});
  job.recording.first_recorded_step = Pick(random, {0, 0, 2});
  job.recording.lost_share = Pick(random, {0, 1}) * 0.02;
  job.recording.gap_share = Pick(random, {0, 0, 1}) * 0.04;
  return job;
}

std::string SimulatedRecording::Describe() const {
  const Parallelism& p = job.parallelism;
  return absl::StrCat("tp", p.tensor, " cp", p.context, " dp", p.data, " pp", p.pipeline, " ep", p.expert, " vp",
                      p.virtual_stages, p.sharded_optimizer ? " sharded" : "", " buckets ",
                      job.workload.gradient_buckets, " inner ", job.recording.tensor_operations, " steps ",
                      job.schedule.steps, " eval ", job.schedule.evaluate_every, " ckpt ",
                      job.schedule.checkpoint_every, " first ", job.recording.first_recorded_step, " lost ",
                      job.recording.lost_share, " gap ", job.recording.gap_share, has_world ? " world" : "");
}

SimulatedRecording RecordJob(const JobSpec& job, absl::Span<const FaultSpec> faults, bool has_world, uint64_t seed) {
  CHECK(Validate(job).ok());
  const Layout layout(job);
  SimulatedRecording recording{.job = job, .has_world = has_world};
  RecordTable records;
  const ReplayResult replay = Replay(job, layout, seed, faults, &records);
  recording.phases = PhasesOf(job.schedule);
  const Plan plans[] = {MakeTrainingPlan(job, layout), MakeEvaluationPlan(job, layout),
                        MakeCheckpointPlan(job, layout)};
  // Every record of a rank by what no other record of it shares.
  std::map<std::tuple<int32_t, int32_t, OperationKind, int32_t, uint64_t>, int32_t> phases;
  const auto key = [](int32_t rank, const TraceOperation& o) {
    return std::make_tuple(rank, o.communicator, o.kind, o.peer, o.sequence);
  };
  for (int32_t rank = 0; rank < layout.ranks(); ++rank) {
    size_t row = records.first[static_cast<size_t>(rank)];
    for (const Phase& phase : recording.phases) {
      if (phase.step < job.recording.first_recorded_step) continue;
      const Plan& plan = plans[static_cast<size_t>(phase.kind)];
      const int32_t in_phase = plan.stages[static_cast<size_t>(layout.StageOf(rank))].records;
      for (int32_t position = 0; position < in_phase; ++position, ++row) {
        TraceOperation& operation = records.operations[row];
        phases[key(rank, operation)] = phase.number;
        const bool of_world = operation.communicator == layout.Communicator(GroupKind::kWorld, 0);
        if (of_world && !has_world) operation.enqueue_ns = kNoTime;
      }
    }
  }
  recording.trace = RecordTrace(job, layout, seed, replay, std::move(records));
  const Trace& trace = recording.trace;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    for (const TraceOperation& operation : trace.OperationsOf(rank)) {
      recording.phase_of.push_back(phases.at(key(trace.ranks[rank].rank, operation)));
    }
  }
  return recording;
}

}  // namespace lockstep
