#include "sim/job_spec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lockstep {
namespace {

struct IntegerField {
  absl::string_view name;
  int64_t value;
  int64_t least;
  int64_t most;
};

struct RealField {
  absl::string_view name;
  double value;
  double least;
  double most;
};

absl::Status CheckIntegers(const JobSpec& job) {
  const Parallelism& p = job.parallelism;
  const IntegerField fields[] = {
      {"tensor", p.tensor, 1, 64},
      {"context", p.context, 1, 64},
      {"data", p.data, 1, kMaxSimulatedGpus},
      {"pipeline", p.pipeline, 1, 64},
      {"expert", p.expert, 1, 256},
      {"virtual_stages", p.virtual_stages, 1, 8},
      {"gpus", int64_t{p.tensor} * p.context * p.data * p.pipeline, 2, kMaxSimulatedGpus},
      {"gpus_per_host", job.gpus_per_host, 1, 64},
      {"hosts_per_leaf", job.hosts_per_leaf, 1, 4096},
      {"microbatches", job.workload.microbatches, 1, 1024},
      {"gradient_buckets", job.workload.gradient_buckets, 1, 64},
      {"host_lead_operations", job.workload.host_lead_operations, 1, 4096},
      {"steps", job.schedule.steps, 1, kMaxSimulatedSteps},
      {"checkpoint_every", job.schedule.checkpoint_every, 0, kMaxSimulatedSteps},
      {"evaluate_every", job.schedule.evaluate_every, 0, kMaxSimulatedSteps},
      {"evaluate_batches", job.schedule.evaluate_batches, 1, 64},
      {"tensor_operations", job.recording.tensor_operations, 0, 64},
      {"expert_operations", job.recording.expert_operations, 0, 64},
      {"first_recorded_step", job.recording.first_recorded_step, 0, job.schedule.steps - 1},
      {"counter_interval_ms", job.recording.counter_interval_ms, 10, 600'000},
      {"silent_ranks", job.recording.silent_ranks, 0, int64_t{p.tensor} * p.context * p.data * p.pipeline},
  };
  for (const IntegerField& field : fields) {
    if (field.value < field.least || field.value > field.most) {
      return absl::InvalidArgumentError(
          absl::StrCat(field.name, " = ", field.value, " is not in [", field.least, ", ", field.most, "]"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReals(const JobSpec& job) {
  constexpr double kLongSeconds = 3600;
  const Workload& w = job.workload;
  const JobNoise& n = job.noise;
  const RealField fields[] = {
      {"forward_seconds", w.forward_seconds, 1e-5, kLongSeconds},
      {"optimizer_seconds", w.optimizer_seconds, 0, kLongSeconds},
      {"input_seconds", w.input_seconds, 0, kLongSeconds},
      {"last_stage_factor", w.last_stage_factor, 0.1, 10},
      {"nvlink_bytes_per_second", w.nvlink_bytes_per_second, 1e6, 1e15},
      {"nic_bytes_per_second", w.nic_bytes_per_second, 1e6, 1e15},
      {"latency_seconds", w.latency_seconds, 0, 1},
      {"launch_seconds", w.launch_seconds, 0, 1},
      {"launch_share", w.launch_share, 0, 10},
      {"host_lead_seconds", w.host_lead_seconds, 0, kLongSeconds},
      {"gpu_binning", n.gpu_binning, 0, 0.2},
      {"compute_cv", n.compute_cv, 0, 0.25},
      {"step_cv", n.step_cv, 0, 0.25},
      {"heavy_tail_share", n.heavy_tail_share, 0, 1},
      {"heavy_tail_factor", n.heavy_tail_factor, 0, 100},
      {"transfer_cv", n.transfer_cv, 0, 0.25},
      {"sequence_length_cv", n.sequence_length_cv, 0, 0.5},
      {"expert_cv", n.expert_cv, 0, 0.5},
      {"hiccup_per_step", n.hiccup_per_step, 0, 1},
      {"hiccup_seconds", n.hiccup_seconds, 0, kLongSeconds},
      {"input_cv", n.input_cv, 0, 1},
      {"warmup_factor", n.warmup_factor, 1, 1000},
      {"checkpoint_seconds", job.schedule.checkpoint_seconds, 0, kLongSeconds},
      {"clock_offset_seconds", job.recording.clock_offset_seconds, 0, kLongSeconds},
      {"clock_drift", job.recording.clock_drift, 0, 0.01},
      {"lost_share", job.recording.lost_share, 0, 1},
      {"gap_share", job.recording.gap_share, 0, 1},
  };
  for (const RealField& field : fields) {
    if (!(field.value >= field.least && field.value <= field.most)) {
      return absl::InvalidArgumentError(
          absl::StrCat(field.name, " = ", field.value, " is not in [", field.least, ", ", field.most, "]"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const JobSpec& job) {
  if (absl::Status status = CheckIntegers(job); !status.ok()) return status;
  if (absl::Status status = CheckReals(job); !status.ok()) return status;
  const Parallelism& p = job.parallelism;
  if (p.data % p.expert != 0) return absl::InvalidArgumentError("expert must divide data");
  if (p.virtual_stages > 1 && (p.pipeline < 2 || job.workload.microbatches % p.pipeline != 0)) {
    return absl::InvalidArgumentError("virtual_stages needs pipeline > 1 and microbatches a multiple of pipeline");
  }
  if (job.gpus_per_host % p.tensor != 0 && p.tensor % job.gpus_per_host != 0) {
    return absl::InvalidArgumentError("tensor and gpus_per_host must divide one another");
  }
  return absl::OkStatus();
}

JobSpec TypicalJob(int32_t gpus, int32_t dimensions) {
  JobSpec job;
  Parallelism& p = job.parallelism;
  // The largest of `wanted`, halved until it divides what is left of the job and leaves at least two replicas.
  int32_t left = gpus;
  const auto take = [&](int32_t wanted) {
    while (wanted > 1 && (left % wanted != 0 || left / wanted < 2)) wanted /= 2;
    left /= wanted;
    return wanted;
  };
  if (dimensions >= 2) p.tensor = take(gpus >= 64 ? 8 : 2);
  if (dimensions >= 3) p.pipeline = take(gpus >= 2048 ? 8 : gpus >= 32 ? 4 : 2);
  if (dimensions >= 5) p.context = take(2);
  p.data = left;
  if (dimensions >= 4) {
    p.expert = std::min(8, p.data);
    while (p.data % p.expert != 0) --p.expert;
  }
  p.sequence_parallel = dimensions >= 6;
  job.hosts_per_leaf = std::clamp(gpus / job.gpus_per_host / 4, 2, 32);
  if (gpus > 4096) {
    job.workload.microbatches = 8;
    job.workload.gradient_buckets = 2;
    job.schedule.steps = 12;
    job.recording.tensor_operations = 1;
  }
  if (gpus > 20'000) {
    job.schedule.steps = 8;
    job.recording.steps_only_data = true;
  }
  return job;
}

}  // namespace lockstep
