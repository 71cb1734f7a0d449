// Which counters of which machines to simulate, how untidy they are, what goes wrong on which machine, and what only
// looks as if it did.
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
  double step_seconds = 10;     // length of the steps, for kTraining
  double compute_share = 0.75;  // of a step; the rest is communication, or waiting for it
};

struct CounterNoise {
  double machine_offset = 0.03;  // standard deviation of a machine's own level, as a share of the common one
  double machine_drift = 0.01;   // largest amplitude of the slow wave that is a machine's own
  double common_drift = 0.02;    // amplitude of the slow wave that all machines share
  double jitter = 0.03;          // standard deviation of every sample, as a share of the level
  double jitter_memory = 0.5;    // correlation of the jitter of a sample and the next (AR(1)); slow metrics have none
  double spike_share = 0.001;    // samples that are off by up to 24 times the jitter: a heavy tail
  double burst_per_hour = 2;     // of a machine: something else runs on it for a while
  double burst_seconds = 12;
  double missing_share = 0.02;  // samples that are not there, one by one
  double gap_per_hour = 0.3;    // of a machine: nothing at all
  double gap_seconds = 20;
  double restart_per_hour = 0.05;  // of a machine: a gap of kRestartGapSeconds after which its counters begin at 0
  double duplicate_share = 0.002;  // samples that come twice
  double nan_share = 0.0005;
  double sentinel_share = 0.0002;  // samples of GPU metrics with DCGM's mark for "blank" as their value
  double clock_skew_ms = 10;       // standard deviation over the machines
  double tick_spread_ms = 200;     // machines sample up to so much later than the tick
};

inline constexpr double kRestartGapSeconds = 10;
// DCGM's blank 64-bit integer, as exporters let it through.
inline constexpr double kBlankSentinel = 9223372036854775794.0;

// What happens without anybody being at fault.
enum class OddityKind : uint8_t {
  kLoadShift,  // the whole job: its load is multiplied by `amount`, on every machine within some per cent
  kRebalance,  // `amount` is the share of the machines that get more work from now on; the others get less
  kBackup,     // one host reads and writes for itself; the training goes on as before
  kClockOff,   // one host's clock is `amount` seconds ahead, for all of the history
};

struct CounterOddity {
  OddityKind kind = OddityKind::kLoadShift;
  int32_t host = 0;
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
  double amount = 1;
};

struct CounterSpec {
  std::string job = "job-1";
  int32_t hosts = 16;
  int32_t devices_per_host = 8;  // GPUs, each with its NIC
  int32_t interval_ms = 1000;
  std::vector<ActivityWindow> activity = {{.end_ms = 900'000}};  // in order, without holes
  CounterNoise noise;
  std::vector<CounterOddity> oddities;
};

struct CounterFault {
  FaultKind kind = FaultKind::kGpuLost;
  int32_t host = 0;
  int32_t device = 0;  // of the host
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
  int64_t ramp_ms = 0;  // what it does grows from nothing over so long
  double severity = 1;  // scales what the counters show; 1 = as usual for the kind
  // Above 0: what the counters show is so many standard deviations of the jitter of each of them, and counters without
  // jitter (errors, widths) show nothing.
  double sigmas = 0;
};

// One row of the mix of faults that Minder met (arXiv 2411.01791, section 2 and its evaluation), and what it is here.
struct MinderFault {
  const char* name;
  double share;  // of all its faults
  FaultKind kind;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_COUNTER_SPEC_H_
