// What transfers with each peer waited for, summed up from the network proxy's steps into the ring (TransferWaits).
//
// A step is one chunk on its way. NCCL says when it begins to wait for the next thing; the time between two such
// messages goes to what was waited for. Switched on for a bounded time only: steps are many.
//
// Thread-safe. Bounded: kMaxRows pairs of (communicator, peer, direction), kMaxSteps steps at a time; what finds no
// place is counted. A step that never ended gives its place up after kAbandonedNanos. Never blocks, allocates nothing.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_TRANSFERS_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_TRANSFERS_H_

#include <atomic>
#include <cstdint>

#include "agent/recorder/nccl_handle.h"
#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

class NcclTransfers {
 public:
  static constexpr uint32_t kMaxRows = 1024;
  static constexpr uint32_t kMaxSteps = 2048;
  static constexpr uint32_t kNoTransfer = 0xFFF;
  static constexpr int64_t kAbandonedNanos = 60'000'000'000;

  constexpr NcclTransfers() = default;
  NcclTransfers(const NcclTransfers&) = delete;
  NcclTransfers& operator=(const NcclTransfers&) = delete;

  // The row of a pair, made when absent; kNoTransfer = no room, the ring has no such table, or `communicator` is
  // kNoCommunicator: what nobody is named by is of no use.
  uint32_t FindOrAdd(RingHeader* header, uint32_t communicator, int32_t peer, bool is_send);

  // The handle of a new step of `row`; HandleType::kNone = no room.
  Handle StartStep(RingHeader* header, uint32_t row, int64_t now_ns);
  // NCCL's `state`; one that is not of a step is ignored. `bytes` 0 = NCCL did not tell.
  void ChangeStep(RingHeader* header, Handle step, int32_t state, uint64_t bytes, int64_t now_ns);
  void StopStep(RingHeader* header, Handle step, int64_t now_ns);

  uint64_t steps() const { return steps_started_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kRowWindow = 32;
  static constexpr uint32_t kStepWindow = 16;

  // Of one thread at a time: NCCL's events of one step do not overlap.
  struct Step {
    std::atomic<uint64_t> generation{0};  // odd = in use
    std::atomic<int64_t> since_ns{0};
    std::atomic<uint32_t> row{0};
    std::atomic<uint32_t> waits_for{0};  // index in TransferWaits::waits_ns
    std::atomic<uint64_t> bytes{0};
  };

  Step* Find(Handle handle);

  std::atomic<uint64_t> keys_[kMaxRows] = {};
  Step steps_[kMaxSteps] = {};
  std::atomic<uint32_t> next_step_{0};
  std::atomic<uint64_t> steps_started_{0};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_TRANSFERS_H_
