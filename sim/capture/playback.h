// Which agents play a job, and what its evidence does not say itself: when each begins, falls silent and ends.
//
// Moments called "since zero" are nanoseconds of one clock that all hosts of a playback share: zero is where its first
// tick begins. Pure values; thread-compatible.

#ifndef LOCKSTEP_SIM_CAPTURE_PLAYBACK_H_
#define LOCKSTEP_SIM_CAPTURE_PLAYBACK_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/job_evidence.h"
#include "detector/model/trace.h"
#include "sim/capture/operation_batch.h"

namespace lockstep {

inline constexpr int64_t kReportIntervalNanos = 1'000'000'000;
// A job that stands at the end is played on for so long: as many seconds as a hang needs to be noticed several times.
inline constexpr int32_t kTicksAfterEnd = 30;
inline constexpr int64_t kForEverNanos = std::numeric_limits<int64_t>::max();

// One agent.
struct PlayedHost {
  std::string name;
  int64_t zero_ns = 0;                     // what the clock of its operations and events reads at zero
  int64_t metrics_zero_ns = 0;             // what the clock of its samples reads at zero
  int64_t boot_ns = kBootNanos;            // what the agent's monotonic clock reads at zero
  int64_t silent_from_ns = kForEverNanos;  // since zero: nothing is heard of it any more
  std::vector<size_t> ranks;               // rank indices
  std::vector<size_t> series;              // indices into the metric table
};

// What becomes of a process.
struct PlayedProcess {
  ProcessState before = ProcessState::kUnknown;
  ProcessState after = ProcessState::kUnknown;
  int64_t from_ns = kForEverNanos;  // since zero: the moment of the change
};

struct Playback {
  const JobEvidence* evidence = nullptr;  // must outlive whoever plays it
  std::string job;
  std::vector<PlayedHost> hosts;
  std::vector<PlayedProcess> processes;    // by rank index
  std::vector<uint64_t> communicator_ids;  // by communicator, all different
  int32_t world_size = -1;                 // -1 = not known
  uint64_t collective_shift = 0;           // see WireNumbers
  uint64_t transfer_shift = 0;
  int32_t ticks = 0;           // of kReportIntervalNanos
  bool ends_in_order = false;  // the processes say in the last tick that they are through
};

// One id per communicator, all different, never 0. A name that is a number (0x..., or 16 hexadecimal digits) is the id.
std::vector<uint64_t> CommunicatorIds(const std::vector<TraceCommunicator>& communicators);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_PLAYBACK_H_
