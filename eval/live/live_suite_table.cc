// The recipes of `lockstep eval live`. Jobs have the shape of real ones (tensor x pipeline x data, gradients behind the
// backward pass, hosts ahead of their GPUs); lengths are chosen in seconds, since that is what a collector waits for.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "eval/counters/counter_suite.h"
#include "eval/live/live_suite.h"
#include "eval/suites/plan_draws.h"
#include "sim/fault_choice.h"

namespace lockstep {
namespace {

constexpr double kPlaySeconds = 150;      // of jobs up to 256 GPUs: time for a past, a fault and two rounds of pulls
constexpr double kLargePlaySeconds = 90;  // of larger ones, which take memory by the second
constexpr double kSecondsPerHour = 3600;
constexpr double kVastPlaySeconds = 60;  // from 8,192 GPUs on
constexpr int32_t kLargeGpus = 1024;
constexpr int32_t kVastGpus = 8192;

constexpr FaultKind kUglyKinds[] = {FaultKind::kGarbageCollection,
                                    FaultKind::kSequenceImbalance,
                                    FaultKind::kStageImbalance,
                                    FaultKind::kExpertImbalance,
                                    FaultKind::kJobRegression,
                                    FaultKind::kDrift,
                                    FaultKind::kPause};

// About; what the shape of the job makes of it is in the truth.
double StepSeconds(const JobSpec& job) {
  const Workload& w = job.workload;
  const double waves = w.microbatches + job.parallelism.pipeline - 1;
  return waves * 3 * w.forward_seconds * 1.2 + w.optimizer_seconds + 0.05;
}

double PlaySeconds(int32_t gpus) {
  return gpus >= kVastGpus ? kVastPlaySeconds : gpus >= kLargeGpus ? kLargePlaySeconds : kPlaySeconds;
}

JobSpec LiveJob(int32_t gpus, Random& random) {
  // Half of the jobs have three dimensions (tensor, pipeline, data); experts, contexts and sequences in others.
  const int32_t dimensions = random.Unit() < 0.5 ? 3 : 2 + static_cast<int32_t>(random.Below(5));
  JobSpec job = TypicalJob(gpus, dimensions);
  if (gpus < 64) job.gpus_per_host = 2;
  if (gpus < kVastGpus) {
    constexpr int32_t kMicrobatches[] = {4, 8, 16};
    job.workload.microbatches = PickFrom(kMicrobatches, random);
  }
  job.workload.forward_seconds = LogUniform(0.015, 0.06, random);
  job.parallelism.sharded_optimizer = random.Unit() < 0.7;
  job.noise.compute_cv = LogUniform(0.005, 0.02, random);
  job.noise.step_cv = LogUniform(0.003, 0.02, random);
  job.noise.gpu_binning = LogUniform(0.003, 0.01, random);
  job.recording.names_groups = random.Unit() < 0.5;
  job.schedule.steps = std::max(16, static_cast<int32_t>(std::lround(PlaySeconds(gpus) / StepSeconds(job))));
  return job;
}

// Most recorders err as nccldrive measures them (begins p99 11 to 45 us, gaps 0.1 to 1.2 us); some ten times as much.
RecorderErrors RandomRecorder(Random& random) {
  const bool poor = random.Unit() < 0.2;
  const bool enqueue_only = random.Unit() < 0.15;
  return {.wander_seconds = poor ? LogUniform(5e-5, 5e-4, random) : LogUniform(5e-6, 5e-5, random),
          .jitter_seconds = poor ? LogUniform(5e-6, 5e-5, random) : LogUniform(5e-7, 5e-6, random),
          .enqueue_only_share = enqueue_only ? LogUniform(0.02, 0.1, random) : 0};
}

DeliverySpec RandomDelivery(Random& random) {
  const bool late_agents = random.Unit() < 0.1;
  return {.recorder = RandomRecorder(random),
          .latency_seconds = LogUniform(0.002, 0.1, random),
          .stall_share = random.Unit() < 0.3 ? 0.005 : 0,
          .stall_seconds = 2,
          .lost_share = random.Unit() < 0.2 ? 0.002 : 0,
          .late_agent_share = late_agents ? 0.2 : 0,
          .late_agent_seconds = 20};
}

LivePlan HealthyPlan(int32_t gpus, Random& random) {
  LivePlan plan;
  plan.episode.job = LiveJob(gpus, random);
  plan.delivery = RandomDelivery(random);
  return plan;
}

LivePlan SlowDevice(int32_t gpus, Random& random) {
  LivePlan plan = HealthyPlan(gpus, random);
  plan.episode.faults = {SpreadFault(PickFrom(kSlowKinds, random), 1, plan.episode.job, random)};
  return plan;
}

LivePlan Slow8(uint64_t, Random& random) { return SlowDevice(8, random); }
LivePlan Slow64(uint64_t, Random& random) { return SlowDevice(64, random); }
LivePlan Slow256(uint64_t, Random& random) { return SlowDevice(256, random); }
LivePlan Slow1024(uint64_t, Random& random) { return SlowDevice(1024, random); }
LivePlan Slow2048(uint64_t, Random& random) { return SlowDevice(2048, random); }
LivePlan Slow8192(uint64_t, Random& random) { return SlowDevice(8192, random); }

int32_t SmallSize(Random& random) {
  constexpr int32_t kSizes[] = {64, 128, 256};
  return PickFrom(kSizes, random);
}

// Slow before the first record: nothing to compare with but its equals.
LivePlan FromStart(uint64_t, Random& random) {
  LivePlan plan = SlowDevice(SmallSize(random), random);
  plan.episode.faults[0].onset_step = 0;
  return plan;
}

LivePlan HangOf(int32_t gpus, uint64_t number, Random& random) {
  LivePlan plan = HealthyPlan(gpus, random);
  plan.episode.faults = {RandomFault(kHangKinds[number % std::size(kHangKinds)], 1, plan.episode.job, random)};
  return plan;
}

LivePlan Hangs(uint64_t number, Random& random) { return HangOf(SmallSize(random), number, random); }
LivePlan Hangs2048(uint64_t number, Random& random) { return HangOf(2048, number, random); }

// Makes a healthy job and its delivery ugly: everything that is no fault, all kinds of it in turn.
LivePlan MadeUgly(LivePlan plan, uint64_t number, Random& random) {
  constexpr size_t kPlain = 4;
  JobSpec& job = plan.episode.job;
  const size_t which = number % (kPlain + std::size(kUglyKinds));
  if (which >= kPlain) {
    plan.episode.faults = {SpreadFault(kUglyKinds[which - kPlain], 1, job, random)};
  } else if (which == 1) {
    job.schedule.checkpoint_every = std::max(3, job.schedule.steps / 4);
    job.schedule.evaluate_every = std::max(4, job.schedule.steps / 3);
  } else if (which == 2) {
    job.recording.lost_share = 0.03;
    job.recording.gap_share = 0.01;
    job.recording.silent_ranks = 1;
  } else if (which == 3) {
    job.workload.last_stage_factor = 1.4;
    job.noise.hiccup_per_step = 0.3;
  }
  if (random.Unit() < 0.5) {
    plan.delivery.stall_share = 0.02;
    plan.delivery.lost_share = 0.01;
    plan.delivery.late_agent_share = 0.2;
  }
  return plan;
}

LivePlan Healthy(uint64_t number, Random& random) {
  const int32_t gpus = random.Unit() < 0.2 ? 8 : SmallSize(random);
  return MadeUgly(HealthyPlan(gpus, random), number, random);
}

// Long enough for means over an hour: small jobs with slow steps, so that an hour fits into memory.
LivePlan Hours(uint64_t number, Random& random) {
  LivePlan plan = HealthyPlan(16, random);
  JobSpec& job = plan.episode.job;
  job.workload.microbatches = 8;
  job.workload.forward_seconds = LogUniform(0.04, 0.08, random);
  job.schedule.steps = static_cast<int32_t>(std::lround(kSecondsPerHour / StepSeconds(job)));
  return MadeUgly(std::move(plan), number, random);
}

// The same histories as those of `lockstep eval counters`, number by number.
LivePlan CountersOf(const char* suite, uint64_t number, Random& random) {
  LivePlan plan;
  plan.delivery = RandomDelivery(random);
  plan.counters = CounterPlanOf(*FindCounterSuite(suite), number);
  return plan;
}

LivePlan CounterFaults(uint64_t number, Random& random) { return CountersOf("gross", number, random); }
LivePlan CounterQuiet(uint64_t number, Random& random) {
  return CountersOf(number % 2 == 0 ? "healthy" : "not-faults", number / 2, random);
}

LivePlan TwoSlow(uint64_t, Random& random) {
  LivePlan plan = SlowDevice(SmallSize(random), random);
  plan.episode.faults.push_back(SpreadFault(PickFrom(kSlowKinds, random), 1, plan.episode.job, random));
  return plan;
}

// A tenth of the machines at once, one GPU of each or the whole host.
LivePlan SlowTenth(uint64_t, Random& random) {
  constexpr FaultKind kKinds[] = {FaultKind::kComputeSlow, FaultKind::kClockThrottled, FaultKind::kHostSlow};
  LivePlan plan = HealthyPlan(256, random);
  const JobSpec& job = plan.episode.job;
  const int32_t hosts = job.parallelism.gpus() / job.gpus_per_host;
  plan.episode.faults = {SpreadFault(PickFrom(kKinds, random), std::max(2, hosts / 10), job, random)};
  return plan;
}

// Faults that machines' counters show as well, in jobs whose counters are read every second.
LivePlan WithCounters(uint64_t, Random& random) {
  constexpr FaultKind kKinds[] = {FaultKind::kClockThrottled, FaultKind::kPcieDegraded, FaultKind::kNicSendSlow,
                                  FaultKind::kHostSlow,       FaultKind::kStorageStall, FaultKind::kGpuLost};
  LivePlan plan = HealthyPlan(64, random);
  plan.episode.job.recording.counters = true;
  plan.episode.faults = {SpreadFault(PickFrom(kKinds, random), 1, plan.episode.job, random)};
  return plan;
}

constexpr LiveSuite kSuites[] = {
    {"slow-8", "one slow device, 8 GPUs on 4 hosts", 60, 3, false, false, 1, Slow8},
    {"slow-64", "one slow device, 64 GPUs", 60, 3, false, false, 1, Slow64},
    {"slow-256", "one slow device, 256 GPUs", 40, 2, false, false, 1, Slow256},
    {"slow-1024", "one slow device, 1,024 GPUs", 16, 0, false, true, 2, Slow1024},
    {"slow-2048", "one slow device, 2,048 GPUs", 40, 0, true, true, 4, Slow2048},
    {"slow-8192", "one slow device, 8,192 GPUs", 10, 0, true, true, 0, Slow8192},
    {"from-start", "one slow device from the first step on, 64 to 256 GPUs", 40, 2, false, false, 1, FromStart},
    {"hangs", "the job stops for good, 64 to 256 GPUs", 80, 8, false, false, 1, Hangs},
    {"hangs-2048", "the job stops for good, 2,048 GPUs", 16, 0, true, true, 0, Hangs2048},
    {"healthy", "healthy and ugly jobs of 8 to 256 GPUs, ugly deliveries: nobody is to blame", 110, 11, false, false, 1,
     Healthy},
    {"hours", "the same for an hour each, 16 GPUs on 8 hosts", 22, 1, false, false, 0, Hours},
    {"two-at-once", "two unrelated slow devices, 64 to 256 GPUs", 40, 2, false, false, 1, TwoSlow},
    {"tenth-at-once", "a tenth of 32 machines slow at once", 20, 1, false, false, 1, SlowTenth},
    {"counters", "faults that counters show as well, 64 GPUs, counters every second", 40, 2, false, false, 1,
     WithCounters},
    {"counters-alone", "one fault of Minder's mix, 8 to 256 machines, no records of operations", 20, 0, false, false, 1,
     CounterFaults},
    {"counters-quiet", "counters of machines without faults, shifted loads and the like, no records", 20, 0, false,
     false, 1, CounterQuiet},
};

}  // namespace

absl::Span<const LiveSuite> AllLiveSuites() { return kSuites; }

}  // namespace lockstep
