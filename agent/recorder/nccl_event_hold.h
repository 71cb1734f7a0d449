// One event's exclusive use of an operation's slot and side, for a few stores.
//
// An operation begins without a locked instruction of its own: those were a tenth of its price. It does hold the begin
// lock, and looks whether an event holds the side whose slot it is going to use again. The events, which come later and
// often on other threads, pay for that:
//
//   event: side.held = 1 (locked), then read next_ticket      begin: next_ticket = t + capacity (the one before), then
//                                                              the begin lock (locked), then read side.held
//
// Either the event sees that the next operation to begin takes its slot, and steps back to take the begin lock first;
// or the operation that begins sees the event, and waits or counts as lost. Both orders hold because a locked
// instruction stands between each write and the read after it (on ARM64, because acquiring reads stay behind the
// releasing writes before them).
//
// The slot's version is odd meanwhile, for readers outside the process. Check held(): every wait is bounded. Events do
// not nest. Thread-safe, allocates nothing.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_EVENT_HOLD_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_EVENT_HOLD_H_

#include <atomic>
#include <cstdint>

#include "agent/recorder/nccl_begin_lock.h"
#include "agent/recorder/nccl_side.h"
#include "agent/recorder/ring_access.h"
#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

// Whether no event holds the side, after a bounded wait. Under the begin lock.
[[gnu::always_inline]] inline bool IsFreeOfEvents(OperationSide& side) {
  if (Atomic(side.held).load(std::memory_order_seq_cst) == 0) [[likely]]
    return true;
  for (int spin = 0; spin < kMaxLockSpins; ++spin) {
    if (Atomic(side.held).load(std::memory_order_seq_cst) == 0) return true;
    CpuPause();
  }
  return false;
}

class EventHold {
 public:
  // `ticket` may be of an operation that is long gone, or of none.
  EventHold(RingHeader* header, OperationSlot& slot, OperationSide& side, uint64_t ticket,
            std::atomic<uint32_t>& begin_lock)
      : slot_(slot), side_(side) {
    if (Atomic(slot.ticket).load(std::memory_order_relaxed) != ticket) [[unlikely]]
      return;
    if (!Hold(side)) [[unlikely]]
      return;
    if (IsNextToBegin(header, ticket)) [[unlikely]] {
      Release(side);
      if (!HoldUnderBeginLock(slot, side, ticket, begin_lock)) return;
      begin_lock_ = &begin_lock;
    }
    held_ = true;
    Atomic(slot_.version).store(slot_.version + 1, std::memory_order_relaxed);
    // The odd version must be visible before any field changes.
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~EventHold() {
    if (!held_) [[unlikely]]
      return;
    Atomic(slot_.version).store(slot_.version + 1, std::memory_order_release);
    Release(side_);
    if (begin_lock_ != nullptr) [[unlikely]]
      begin_lock_->store(0, std::memory_order_release);
  }
  EventHold(const EventHold&) = delete;
  EventHold& operator=(const EventHold&) = delete;

  // True = the slot is the ticket's operation.
  bool held() const { return held_; }

 private:
  static bool TryHold(OperationSide& side) {
    uint8_t expected = 0;
    return Atomic(side.held).compare_exchange_strong(expected, 1, std::memory_order_seq_cst, std::memory_order_relaxed);
  }
  static bool Hold(OperationSide& side) {
    if (TryHold(side)) [[likely]]
      return true;
    for (int spin = 0; spin < kMaxLockSpins; ++spin) {
      if (Atomic(side.held).load(std::memory_order_relaxed) == 0 && TryHold(side)) return true;
      CpuPause();
    }
    return false;
  }
  static void Release(OperationSide& side) { Atomic(side.held).store(0, std::memory_order_release); }

  // Or has begun, or was never given out: whatever is not surely among the newest `capacity` - 1.
  static bool IsNextToBegin(RingHeader* header, uint64_t ticket) {
    const uint64_t next = Atomic(header->next_ticket).load(std::memory_order_seq_cst);
    return next - ticket - 1 >= header->operation_capacity - 1;
  }

  [[gnu::noinline, gnu::cold]] static bool HoldUnderBeginLock(OperationSlot& slot, OperationSide& side, uint64_t ticket,
                                                              std::atomic<uint32_t>& begin_lock) {
    BeginLock lock(begin_lock);
    if (!lock.held() || !Hold(side)) return false;
    const bool is_known = slot.ticket == ticket && slot.state != static_cast<uint8_t>(OperationState::kEmpty);
    if (is_known) return lock.Keep();
    Release(side);
    return false;
  }

  OperationSlot& slot_;
  OperationSide& side_;
  std::atomic<uint32_t>* begin_lock_ = nullptr;  // held as well
  bool held_ = false;
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_EVENT_HOLD_H_
