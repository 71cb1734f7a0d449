// One communicator of this process, as NCCL's profiler interface knows it: made by init, ended by finalize.
//
// Contexts live in a fixed table and are used again; whatever outlives one (late events, handles in graphs) names
// operations by ticket and never a context's address. All zero until init fills it, trivially destructible. Thread-safe
// in its atomics.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_CONTEXT_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_CONTEXT_H_

#include <atomic>
#include <cstdint>

#include "agent/recorder/nccl_gpu_clock.h"
#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

// Channels that NCCL uses; what it may count beyond them goes without the checks that need a history.
inline constexpr uint32_t kHistoryChannels = 64;
inline constexpr uint32_t kMaxContexts = 1024;

// The last kernel that ended on a channel.
struct ChannelHistory {
  std::atomic<uint64_t> ended_gpu_ns{0};
  std::atomic<uint64_t> ticket{0};
};

// Plain fields are written by init, before NCCL hands the context out, or under the recorder's begin lock.
struct NcclContext {
  std::atomic<bool> in_use{false};
  // Index in the ring; kNoCommunicator until the first event tells its hash (versions 1 to 3), or when it did not fit.
  std::atomic<uint32_t> communicator{0};
  uint64_t hash = 0;
  int32_t size = 0;  // 0 = unknown
  int32_t rank = 0;
  int32_t node_count = 0;
  uint32_t thread = 0;      // that made it
  bool is_checked = false;  // its first event could be read

  // Shared by the communicators of one GPU, so that their operations can be compared; never nullptr once handed out.
  std::atomic<GpuClock*> gpu_clock{nullptr};
  std::atomic<uint64_t> oldest_open{0};  // no older operation of this communicator is in flight
  // Operations that found the begin lock held for too long, since they were last accounted for.
  std::atomic<uint64_t> missed_collectives{0};
  std::atomic<uint64_t> missed_transfers{0};     // sends and receives
  std::atomic<bool> counts_all_channels{false};  // each operation begins on as many channels as it says
  ChannelHistory history[kHistoryChannels];
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_CONTEXT_H_
