// The steps that are found in the records of random simulated jobs against the program that made them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "detector/model/input.h"
#include "detector/model/operation_instances.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"
#include "detector/steps/step_finder.h"
#include "gtest/gtest.h"
#include "sim/job_spec.h"
#include "sim/layout.h"
#include "sim/world.h"
#include "tests/integration/random_recording.h"

namespace lockstep {
namespace {

int32_t Pick(Random& random, const std::vector<int32_t>& choices) { return choices[random.Below(choices.size())]; }

// Jobs whose program has one call that marks the step clearly: nothing comes exactly twice per step, and no micro-batch
// and no checkpoint holds nearly all kinds of calls (what step_finder.h says misleads it).
JobSpec MarkedJob(Random& random, bool has_world) {
  JobSpec job = RandomSmallJob(random);
  Parallelism& p = job.parallelism;
  p.tensor = Pick(random, {2, 4});  // else a data group may be all ranks
  job.workload.microbatches = p.pipeline * (p.pipeline == 1 ? 4 : 2);
  job.workload.gradient_buckets = p.sharded_optimizer ? 4 : 1;
  job.schedule.steps = Pick(random, {16, 20});
  // With nothing else in its steps, a job's checkpoints would hold more kinds of calls than they.
  job.recording.tensor_operations = p.pipeline == 1 ? 2 : Pick(random, {0, 2});
  if (!has_world) {
    p.data = Pick(random, {3, 4});
    p.expert = 1;
    job.recording.tensor_operations = 0;
  }
  return job;
}

// The call that ends a step by the program: with it the ranks agree on the loss, or (without a world) a data group
// begins to exchange parameters or gradients.
bool IsMark(const SimulatedRecording& recording, const Layout& layout, const TraceOperation& operation) {
  const auto is_of = [&](GroupKind kind) {
    const int32_t first = layout.Communicator(kind, 0);
    return operation.communicator >= first && operation.communicator < first + layout.GroupCount(kind);
  };
  if (recording.has_world) return is_of(GroupKind::kWorld) && operation.kind == OperationKind::kAllReduce;
  const bool sharded = recording.job.parallelism.sharded_optimizer;
  return is_of(GroupKind::kData) && operation.kind == (sharded ? OperationKind::kAllGather : OperationKind::kAllReduce);
}

double MiddleOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

struct ReferenceSteps {
  std::vector<int32_t> phases;                                       // that have a mark, in order: the steps
  std::vector<std::map<int32_t, std::pair<size_t, size_t>>> ranges;  // by rank: step -> operations [begin, end)
  std::vector<std::map<int32_t, double>> seconds;                    // by rank
};

// Cuts every rank behind each mark. A step is known where the mark before it left a record as well.
ReferenceSteps CutAtMarks(const SimulatedRecording& recording) {
  const Layout layout(recording.job);
  const Trace& trace = recording.trace;
  ReferenceSteps steps;
  for (const Phase& phase : recording.phases) {
    const bool marked = phase.kind == PhaseKind::kStep || (phase.kind == PhaseKind::kEvaluation && recording.has_world);
    if (marked && phase.step >= recording.job.recording.first_recorded_step) steps.phases.push_back(phase.number);
  }
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    std::map<int32_t, size_t> marks;  // step -> operation
    for (size_t i = trace.first_operation[rank]; i < trace.first_operation[rank + 1]; ++i) {
      if (!IsMark(recording, layout, trace.operations[i])) continue;
      const auto step = std::find(steps.phases.begin(), steps.phases.end(), recording.phase_of[i]);
      marks[static_cast<int32_t>(step - steps.phases.begin())] = i;
    }
    auto& ranges = steps.ranges.emplace_back();
    auto& seconds = steps.seconds.emplace_back();
    for (const auto& [step, mark] : marks) {
      const auto before = marks.find(step - 1);
      if (before != marks.end()) {
        ranges[step] = {before->second + 1, mark + 1};
        seconds[step] =
            static_cast<double>(trace.operations[mark].end_ns - trace.operations[before->second].end_ns) * 1e-9;
      } else if (step == marks.begin()->first) {
        ranges[step] = {trace.first_operation[rank], mark + 1};
      }
    }
  }
  return steps;
}

// The first stretch of a rank may have lost its beginning: it is complete if it has as many records as the others.
bool IsComplete(const std::map<int32_t, std::pair<size_t, size_t>>& ranges, const std::map<int32_t, double>& seconds,
                int32_t step) {
  std::vector<size_t> lengths;
  for (const auto& [known, unused] : seconds) lengths.push_back(ranges.at(known).second - ranges.at(known).first);
  std::sort(lengths.begin(), lengths.end());
  const auto& [begin, end] = ranges.at(step);
  return seconds.contains(step) || (!lengths.empty() && end - begin == lengths[lengths.size() / 2]);
}

// Whether every rank's steps and their lengths are those of the program.
bool FindsTheSteps(const SimulatedRecording& recording, double tolerance_seconds) {
  const Trace& trace = recording.trace;
  const OperationInstances matched = MatchOperations(trace);
  const StepTable found = FindSteps(trace, matched, InferRoles(trace, matched));
  const ReferenceSteps expected = CutAtMarks(recording);
  if (found.steps != static_cast<int32_t>(expected.phases.size()) || found.ranks != trace.ranks.size()) return false;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    for (int32_t step = 0; step < found.steps; ++step) {
      const StepRange& range = found.Of(rank, step);
      const auto wanted = expected.ranges[rank].find(step);
      if (range.empty() != (wanted == expected.ranges[rank].end())) return false;
      if (range.empty()) continue;
      if (std::make_pair<size_t, size_t>(range.begin, range.end) != wanted->second) return false;
      if (range.complete != IsComplete(expected.ranges[rank], expected.seconds[rank], step)) return false;
    }
  }
  for (int32_t step = 0; step < found.steps; ++step) {
    std::vector<double> seconds;
    for (const std::map<int32_t, double>& of_rank : expected.seconds) {
      if (const auto known = of_rank.find(step); known != of_rank.end()) seconds.push_back(known->second);
    }
    const double measured = found.step_seconds[static_cast<size_t>(step)];
    // Of the first step, of which nobody knows when it began, the finder may believe its first call.
    if (step > 0 && std::abs(measured - MiddleOf(seconds)) > tolerance_seconds) return false;
    // The world's mark ends an evaluation as it ends a step.
    const bool checkpointed =
        step > 0 && expected.phases[static_cast<size_t>(step)] > expected.phases[static_cast<size_t>(step) - 1] + 1;
    if (recording.has_world && checkpointed && found.usual[static_cast<size_t>(step)] != 0) return false;
  }
  return true;
}

TEST(StepFinderTest, FindsTheStepsOfTheProgram) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const bool has_world = seed % 3 != 0;
    JobSpec job = MarkedJob(random, has_world);
    job.recording.lost_share = 0;
    job.recording.gap_share = 0;
    job.recording.silent_ranks = seed % 5 == 0 ? 1 : 0;
    const SimulatedRecording recording = RecordJob(job, {}, has_world, seed);
    EXPECT_TRUE(FindsTheSteps(recording, 1e-9)) << "seed " << seed << ": " << recording.Describe();
  }
}

// As if the recorders of a pipeline stage had started late.
void ForgetBeginning(int32_t stage, int32_t before_step, SimulatedRecording* recording) {
  const Layout layout(recording->job);
  Trace& trace = recording->trace;
  std::vector<TraceOperation> operations;
  std::vector<int32_t> phase_of;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const size_t begin = operations.size();
    for (size_t i = trace.first_operation[rank]; i < trace.first_operation[rank + 1]; ++i) {
      const Phase& phase = recording->phases[static_cast<size_t>(recording->phase_of[i])];
      if (layout.StageOf(trace.ranks[rank].rank) == stage && phase.step < before_step) continue;
      operations.push_back(trace.operations[i]);
      phase_of.push_back(recording->phase_of[i]);
    }
    trace.first_operation[rank] = begin;
  }
  trace.first_operation.back() = operations.size();
  trace.operations = std::move(operations);
  recording->phase_of = std::move(phase_of);
}

TEST(StepFinderTest, CountsTheStepsOfGroupsThatNeverMeetAlike) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    JobSpec job = MarkedJob(random, false);
    job.parallelism.pipeline = Pick(random, {2, 3});
    job.workload.microbatches = 2 * job.parallelism.pipeline;
    job.recording.lost_share = 0;
    job.recording.gap_share = 0;
    SimulatedRecording recording = RecordJob(job, {}, false, seed);
    ForgetBeginning(1, job.recording.first_recorded_step + 3, &recording);
    EXPECT_TRUE(FindsTheSteps(recording, 1e-3)) << "seed " << seed << ": " << recording.Describe();
  }
}

// Here the peers of rank 0 lost the call of all ranks so often that they are cut elsewhere: the others' steps stay.
TEST(StepFinderTest, AClassThatLostItsMarksTakesNobodyElsesSteps) {
  Random random(37);
  JobSpec job = MarkedJob(random, true);
  job.recording.lost_share = 0.01;
  job.recording.gap_share = random.Below(2) == 0 ? 0.03 : 0;
  const SimulatedRecording recording = RecordJob(job, {}, true, 37);
  const OperationInstances matched = MatchOperations(recording.trace);
  const StepTable found = FindSteps(recording.trace, matched, InferRoles(recording.trace, matched));
  EXPECT_EQ(found.steps, static_cast<int32_t>(CutAtMarks(recording).phases.size()));
}

// When peers lost the mark more often than another call of theirs that comes once per step, they are cut there.
TEST(StepFinderTest, FindsTheStepsInNearlyAllJobsThatLostRecords) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const bool has_world = seed % 3 != 0;
    JobSpec job = MarkedJob(random, has_world);
    job.recording.lost_share = 0.01;
    job.recording.gap_share = random.Below(2) == 0 ? 0.03 : 0;
    const SimulatedRecording recording = RecordJob(job, {}, has_world, seed);
    // A rank that lost the whole first step has its second one measured from its first call.
    found += FindsTheSteps(recording, 1e-3) ? 1 : 0;
  }
  EXPECT_GE(found, 38);
}

}  // namespace
}  // namespace lockstep
