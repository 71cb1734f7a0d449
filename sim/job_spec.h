// What job the simulator runs: its size, how its work is cut over the GPUs, how long the pieces take, how untidy the
// world around it is, and how much of it the recorders see.
//
// Ranks are numbered as Megatron does: tensor index fastest, then context, then data, then pipeline stage; hosts hold
// consecutive ranks. Expert groups are runs of `expert` consecutive data indices. Pure values; thread-compatible.

#ifndef LOCKSTEP_SIM_JOB_SPEC_H_
#define LOCKSTEP_SIM_JOB_SPEC_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lockstep {

// The job's cut. gpus = tensor * context * data * pipeline, and expert divides data.
struct Parallelism {
  int32_t tensor = 1;
  int32_t context = 1;
  int32_t data = 1;
  int32_t pipeline = 1;
  int32_t expert = 1;
  int32_t virtual_stages = 1;      // > 1: interleaved 1F1B; then microbatches must be a multiple of `pipeline`
  bool sequence_parallel = false;  // tensor groups use ReduceScatter + AllGather instead of AllReduce
  bool sharded_optimizer = true;   // gradients by ReduceScatter and parameters by AllGather instead of AllReduce

  int32_t gpus() const { return tensor * context * data * pipeline; }
};

// Durations and sizes of one healthy job.
struct Workload {
  int32_t microbatches = 8;              // per step and data replica
  double forward_seconds = 0.040;        // one microbatch through one stage; backward takes twice as long
  double optimizer_seconds = 0.020;      // end of the step
  double input_seconds = 0.002;          // reading the next batch, on the host, before the first forward
  double last_stage_factor = 1.0;        // a longer last stage (vocabulary head) that the job was built with
  uint64_t activation_bytes = 64 << 20;  // pipeline Send/Recv
  uint64_t gradient_bytes = 1024 << 20;  // of one rank, all buckets together
  uint64_t tensor_bytes = 64 << 20;      // one tensor-group operation
  uint64_t context_bytes = 32 << 20;     // one context-group operation
  uint64_t expert_bytes = 32 << 20;      // one expert AllToAll
  int32_t gradient_buckets = 4;          // data-group operations per step that overlap the last backward
  double nvlink_bytes_per_second = 250e9;
  double nic_bytes_per_second = 40e9;  // of one GPU's own NIC
  double latency_seconds = 20e-6;      // of any operation
  double launch_seconds = 40e-6;       // host time to issue one operation
  double launch_share = 0.35;          // host time to issue a block of compute, as a share of the block's GPU time
  double host_lead_seconds = 0.020;    // how far the host may run ahead of its GPU
  int32_t host_lead_operations = 48;   // how much the host still issues behind an operation that is stuck
};

// Noise of healthy jobs. Shares are of the mean; see docs/simulator.md for where the values come from.
struct JobNoise {
  double gpu_binning = 0.006;        // standard deviation of the GPUs' fixed speeds (range about +-1.8 %)
  double compute_cv = 0.010;         // of one compute block
  double step_cv = 0.006;            // of a whole step, common to all ranks
  double heavy_tail_share = 0.0003;  // of compute blocks and transfers: hit by something
  double heavy_tail_factor = 0.5;    // mean extra time of such a hit
  double transfer_cv = 0.010;
  double sequence_length_cv = 0;  // 0.2 to 0.35 = variable-length batches: per replica and microbatch
  double expert_cv = 0;           // routing noise between experts, per step
  double hiccup_per_step = 0.02;  // probability that some rank's host stalls in a step
  double hiccup_seconds = 0.080;  // mean length of that stall
  double input_cv = 0.3;
  double warmup_factor = 8;  // the first step (compilation, allocation) takes so much longer; 1 = none
};

// How many steps, and the breaks that belong to the job.
struct Schedule {
  int32_t steps = 24;
  int32_t checkpoint_every = 0;  // steps; 0 = never
  double checkpoint_seconds = 12;
  int32_t evaluate_every = 0;  // steps; 0 = never: forward passes only, between steps
  int32_t evaluate_batches = 2;
};

// What the recorders see, and how badly.
struct Recording {
  int32_t tensor_operations = 2;    // per forward or backward block and kind of inner group (tensor, context); 0 = none
  int32_t expert_operations = 2;    // AllToAll per block (dispatch and combine)
  bool steps_only_data = false;     // leave tensor, context and expert operations out of the records (not of the job)
  int32_t first_recorded_step = 0;  // earlier steps happen and leave no record
  double clock_offset_seconds = 0.010;  // standard deviation of the hosts' clock offsets
  double clock_drift = 20e-6;           // standard deviation of the hosts' clock rates
  double lost_share = 0;                // of records, one by one
  double gap_share = 0;                 // of (rank, step): everything lost
  int32_t silent_ranks = 0;             // whole ranks without a recorder
  bool counters = false;                // counters of all hosts as well
  int32_t counter_interval_ms = 1000;
  bool names_groups = false;  // communicators carry the framework's name for them
};

struct JobSpec {
  std::string name = "job-1";
  Parallelism parallelism;
  int32_t gpus_per_host = 8;
  int32_t hosts_per_leaf = 32;  // one leaf switch per so many hosts
  Workload workload;
  JobNoise noise;
  Schedule schedule;
  Recording recording;
};

// Limits, also of what Validate accepts.
inline constexpr int32_t kMaxSimulatedGpus = 131'072;
inline constexpr int32_t kMaxSimulatedSteps = 20'000;

// InvalidArgument with the field that is out of range or does not divide.
absl::Status Validate(const JobSpec& job);

// A plausible job of about `gpus` GPUs (a multiple of 8, from 8 to kMaxSimulatedGpus): tensor groups inside a host,
// pipeline stages where the size asks for them, the rest data parallel; detail reduced above 4,096 GPUs so that a few
// steps fit into memory. `dimensions` 2 to 6: data + tensor; + pipeline; + expert; + context; + sequence parallel.
// 1 = data parallel alone.
JobSpec TypicalJob(int32_t gpus, int32_t dimensions);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_JOB_SPEC_H_
