// Which counters of which machines to simulate, how untidy they are, and what goes wrong on which machine.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_SIM_COUNTERS_COUNTER_SPEC_H_
#define LOCKSTEP_SIM_COUNTERS_COUNTER_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/fault_spec.h"

namespace lockstep {

// What the job does meanwhile, in true milliseconds.
enum class Activity : uint8_t {
  kTraining,
  kPause,  // checkpoint, evaluation, an idle job
  kStuck,  // GPUs spin in operations that do not end: busy, but cool
};

struct ActivityWindow {
  Activity activity = Activity::kTraining;
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
  double step_seconds = 10;  // length of the steps, for kTraining
};

struct CounterNoise {
  double machine_offset = 0.03;  // standard deviation of a machine's own level, as a share of the common one
  double jitter = 0.03;          // of every sample
  double burst_per_hour = 2;     // of a machine: something else runs on it for a while
  double burst_seconds = 12;
  double common_drift = 0.02;   // amplitude of the slow wave that all machines share
  double missing_share = 0.02;  // samples that are not there, one by one
  double gap_per_hour = 0.3;    // of a machine: nothing at all
  double gap_seconds = 20;
  double duplicate_share = 0.002;  // samples that come twice
  double nan_share = 0.0005;
  double clock_skew_ms = 10;  // standard deviation over the machines
};

struct CounterSpec {
  std::string job = "job-1";
  int32_t hosts = 16;
  int32_t devices_per_host = 8;  // GPUs, each with its NIC
  int32_t interval_ms = 1000;
  std::vector<ActivityWindow> activity = {{.end_ms = 900'000}};  // in order, without holes
  CounterNoise noise;
};

struct CounterFault {
  FaultKind kind = FaultKind::kGpuLost;
  int32_t host = 0;
  int32_t device = 0;  // of the host
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
  double severity = 1;  // scales what the counters show; 1 = as usual for the kind
};

// One row of the mix of faults that Minder met (arXiv 2411.01791, section 2 and its evaluation), and what it is here.
struct MinderFault {
  const char* name;
  double share;  // of all its faults
  FaultKind kind;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_COUNTER_SPEC_H_
