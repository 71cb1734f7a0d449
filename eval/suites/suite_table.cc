// The recipes. Severities and shapes are drawn wide; what an episode turned out to cost is in its truth, and causes
// that cost less than the threshold of accusation are counted apart.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "eval/suites/plan_draws.h"
#include "eval/suites/suite.h"
#include "sim/fault_choice.h"

namespace lockstep {
namespace {

constexpr FaultKind kInnocentKinds[] = {FaultKind::kGarbageCollection, FaultKind::kSequenceImbalance,
                                        FaultKind::kStageImbalance,    FaultKind::kExpertImbalance,
                                        FaultKind::kJobRegression,     FaultKind::kDrift,
                                        FaultKind::kSilentCorruption,  FaultKind::kPause};

// A job of about this many GPUs with its own shape, sizes and noise.
JobSpec RandomJob(int32_t gpus, int32_t dimensions, Random& random) {
  JobSpec job = TypicalJob(gpus, dimensions);
  if (gpus <= 4096) {
    constexpr int32_t kMicrobatches[] = {4, 8, 16};
    job.workload.microbatches = PickFrom(kMicrobatches, random);
    job.schedule.steps = 16;
    job.parallelism.sharded_optimizer = random.Unit() < 0.7;
  }
  job.workload.forward_seconds = LogUniform(0.01, 0.06, random);
  job.noise.compute_cv = LogUniform(0.005, 0.02, random);
  job.noise.step_cv = LogUniform(0.003, 0.02, random);
  job.noise.gpu_binning = LogUniform(0.003, 0.01, random);
  job.recording.lost_share = random.Unit() < 0.3 ? 0.01 : 0;
  return job;
}

EpisodePlan SlowDevice(int32_t gpus, Random& random) {
  EpisodePlan plan;
  plan.job = RandomJob(gpus, 3 + static_cast<int32_t>(random.Below(4)), random);
  plan.faults = {SpreadFault(PickFrom(kSlowKinds, random), 1, plan.job, random)};
  return plan;
}

EpisodePlan Localize2048(uint64_t, Random& random) { return SlowDevice(2048, random); }
EpisodePlan Localize8192(uint64_t, Random& random) { return SlowDevice(8192, random); }

EpisodePlan Localize80000(uint64_t, Random& random) {
  EpisodePlan plan;
  plan.job = TypicalJob(80'000, 3);
  constexpr FaultKind kKinds[] = {FaultKind::kComputeSlow, FaultKind::kNicSendSlow};
  plan.faults = {SpreadFault(PickFrom(kKinds, random), 1, plan.job, random)};
  return plan;
}

int32_t SmallSize(Random& random) {
  constexpr int32_t kSizes[] = {64, 128, 256, 512};
  return PickFrom(kSizes, random);
}

int32_t AnyDimensions(Random& random) { return 1 + static_cast<int32_t>(random.Below(6)); }

EpisodePlan SlowCompute(uint64_t, Random& random) {
  EpisodePlan plan;
  plan.job = RandomJob(SmallSize(random), AnyDimensions(random), random);
  plan.job.schedule.steps = 24;
  plan.job.recording.lost_share = 0;
  plan.faults = {RandomFault(FaultKind::kComputeSlow, 1, plan.job, random)};
  plan.faults[0].severity = LogUniform(0.1, 0.6, random);
  return plan;
}

// Recordings of hangs lose nothing: operations under way stay in the recorder's slots, whatever happens to finished
// ones.
EpisodePlan Hang(uint64_t number, Random& random) {
  EpisodePlan plan;
  plan.job = RandomJob(SmallSize(random), 2 + static_cast<int32_t>(random.Below(5)), random);
  plan.job.recording.lost_share = 0;
  const FaultKind kind = kHangKinds[number % std::size(kHangKinds)];
  const bool several =
      random.Unit() < 0.2 && InfoOf(kind).target == TargetKind::kRank && InfoOf(kind).scope == VerdictScope::kMachine;
  plan.faults = {RandomFault(kind, several ? 2 : 1, plan.job, random)};
  return plan;
}

// Healthy and structural jobs in turn; every other recording ends in the middle of a step.
EpisodePlan Innocent(uint64_t number, Random& random) {
  constexpr size_t kHealthy = 4;
  EpisodePlan plan;
  plan.job = RandomJob(SmallSize(random), AnyDimensions(random), random);
  const size_t which = number % (kHealthy + std::size(kInnocentKinds));
  if (which >= kHealthy) {
    plan.faults = {SpreadFault(kInnocentKinds[which - kHealthy], 1, plan.job, random)};
  } else if (which == 1) {
    plan.job.schedule.checkpoint_every = 5;
    plan.job.schedule.evaluate_every = 7;
  } else if (which == 2) {
    plan.job.recording.lost_share = 0.05;
    plan.job.recording.gap_share = 0.02;
    plan.job.recording.silent_ranks = 2;
  } else if (which == 3) {
    plan.job.workload.last_stage_factor = 1.6;
    plan.job.noise.hiccup_per_step = 0.3;
  }
  plan.cut_share = random.Unit() < 0.5 ? 0.4 + 0.55 * random.Unit() : 1;
  plan.seen_by_agents = random.Unit() < 0.5;
  return plan;
}

EpisodePlan TwoSlow(uint64_t, Random& random) {
  EpisodePlan plan;
  plan.job = RandomJob(SmallSize(random), 2 + static_cast<int32_t>(random.Below(5)), random);
  for (int i = 0; i < 2; ++i) {
    plan.faults.push_back(SpreadFault(PickFrom(kSlowKinds, random), 1, plan.job, random));
  }
  return plan;
}

// A tenth of the machines at once, one GPU of each or the whole host.
EpisodePlan SlowTenth(uint64_t, Random& random) {
  EpisodePlan plan;
  constexpr int32_t kSizes[] = {256, 512, 1024};
  plan.job = RandomJob(PickFrom(kSizes, random), AnyDimensions(random), random);
  constexpr FaultKind kKinds[] = {FaultKind::kComputeSlow, FaultKind::kClockThrottled, FaultKind::kHostSlow};
  const FaultKind kind = PickFrom(kKinds, random);
  const int32_t hosts = plan.job.parallelism.gpus() / plan.job.gpus_per_host;
  plan.faults = {SpreadFault(kind, std::max(2, hosts / 10), plan.job, random)};
  return plan;
}

// Structure is there from the beginning; what changes over time needs a time before it.
void SuitToKind(FaultKind kind, JobSpec* job, FaultSpec* fault, Random& random) {
  constexpr FaultKind kStructure[] = {FaultKind::kSequenceImbalance, FaultKind::kStageImbalance,
                                      FaultKind::kExpertImbalance, FaultKind::kGarbageCollection};
  constexpr FaultKind kChange[] = {FaultKind::kJobRegression, FaultKind::kPause, FaultKind::kDrift};
  if (std::find(std::begin(kStructure), std::end(kStructure), kind) != std::end(kStructure)) fault->onset_step = 0;
  if (std::find(std::begin(kChange), std::end(kChange), kind) == std::end(kChange)) return;
  job->schedule.steps = 48;
  fault->onset_step = 12 + static_cast<int32_t>(random.Below(12));
  // A swing of the usual size drowns in the step noise of some of these jobs, and nobody would want to hear of it.
  if (kind == FaultKind::kDrift) fault->severity = LogUniform(0.03, 0.08, random);
}

// Every kind in turn.
EpisodePlan EveryClass(uint64_t number, Random& random) {
  EpisodePlan plan;
  const FaultKind kind = FaultTable()[number % FaultTable().size()].kind;
  // Kinds that need a pipeline, experts or several hosts get them.
  plan.job = RandomJob(SmallSize(random), 4 + static_cast<int32_t>(random.Below(3)), random);
  plan.faults = {SpreadFault(kind, 1, plan.job, random)};
  SuitToKind(kind, &plan.job, &plan.faults[0], random);
  return plan;
}

constexpr Suite kSuites[] = {
    {"localize-2048", "one slow device at 2,048 GPUs", Procedure::kWhole, 160, 6, false, 4, true, Localize2048},
    {"localize-8192", "one slow device at 8,192 GPUs", Procedure::kWhole, 80, 2, false, 4, true, Localize8192},
    {"pulls-8192", "one slow device at 8,192 GPUs, with what the collector pulls from agents", Procedure::kPulls, 40, 0,
     false, 0, true, Localize8192},
    {"localize-80000", "one slow device at 80,000 GPUs", Procedure::kWhole, 4, 0, false, 0, true, Localize80000},
    {"slow-compute", "one rank at least 10 % slower in compute, step by step", Procedure::kPrefixes, 200, 12, false, 0,
     false, SlowCompute},
    {"hangs", "the job stops for good", Procedure::kHangCuts, 400, 16, true, 0, false, Hang},
    {"innocent", "healthy, uneven, pausing or changed jobs: nobody is to blame", Procedure::kWhole, 1000, 24, false, 5,
     false, Innocent},
    {"two-at-once", "two unrelated slow devices", Procedure::kWhole, 200, 12, true, 0, false, TwoSlow},
    {"tenth-at-once", "a tenth of the machines slow at once", Procedure::kWhole, 120, 6, true, 2, false, SlowTenth},
    {"classes", "every kind of fault and irregularity in turn", Procedure::kWhole, 540, 27, true, 5, false, EveryClass},
};

}  // namespace

absl::Span<const Suite> AllSuites() { return kSuites; }

}  // namespace lockstep
