// How recorders touch the memory of a ring: atomics, the lock of a slot, the places of its records.
//
// For the files of a recorder only (ring_writer.h, nccl_ring.h); a reader outside the process has its own ways. Nothing
// here blocks or allocates. Thread-safe. Every function takes a ring whose header is complete.

#ifndef LOCKSTEP_AGENT_RECORDER_RING_ACCESS_H_
#define LOCKSTEP_AGENT_RECORDER_RING_ACCESS_H_

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "agent/recorder/ring_format.h"

namespace lockstep::ring {

// A slot is held for about ten stores. A holder that was descheduled inside is not worth waiting for.
inline constexpr int kMaxLockSpins = 128;

template <typename T>
std::atomic_ref<T> Atomic(T& value) {
  return std::atomic_ref<T>(value);
}

// Adds and returns what it was. Locked instructions are most of what recording costs: calls that are known to come one
// at a time (`alone`) do without.
inline uint64_t Add(uint64_t& counter, uint64_t amount, bool alone) {
  auto atomic = Atomic(counter);
  if (!alone) return atomic.fetch_add(amount, std::memory_order_relaxed);
  const uint64_t before = atomic.load(std::memory_order_relaxed);
  atomic.store(before + amount, std::memory_order_relaxed);
  return before;
}

// Writes to each page of zeroed memory that nobody else uses yet.
inline void TouchPages(void* memory, uint64_t bytes) {
  constexpr uint64_t kSmallestPage = 4096;
  auto* const begin = static_cast<volatile char*>(memory);
  for (uint64_t at = 0; at < bytes; at += kSmallestPage) begin[at] = 0;
}

inline CommunicatorEntry* Communicators(RingHeader* header) { return reinterpret_cast<CommunicatorEntry*>(header + 1); }

inline CommunicatorEntry* CommunicatorOrNull(RingHeader* header, uint32_t index) {
  return index < header->communicator_capacity ? Communicators(header) + index : nullptr;
}

inline OperationSlot& SlotOf(RingHeader* header, uint64_t ticket) {
  auto* slots = reinterpret_cast<OperationSlot*>(Communicators(header) + header->communicator_capacity);
  return slots[ticket & (header->operation_capacity - 1)];
}

inline void CpuPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// What is left of taking a slot that was held at the first look: the version before it was taken, even; odd = given up.
[[gnu::noinline, gnu::cold]] inline uint32_t WaitForSlot(uint32_t& version) {
  uint32_t seen = 1;
  for (int spin = 0; spin < kMaxLockSpins; ++spin) {
    seen = Atomic(version).load(std::memory_order_relaxed);
    if ((seen & 1) != 0) {
      CpuPause();
    } else if (Atomic(version).compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) {
      return seen;
    }
  }
  return 1;
}

// Holds a slot by making its version odd. Check `held()`: the spin is bounded.
class SlotLock {
 public:
  SlotLock(OperationSlot& slot, bool alone) : version_(slot.version) {
    uint32_t seen = Atomic(version_).load(std::memory_order_relaxed);
    if (alone) {
      Atomic(version_).store(seen + 1, std::memory_order_relaxed);
    } else if ((seen & 1) != 0 || !Atomic(version_).compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel))
        [[unlikely]] {
      seen = WaitForSlot(version_);
    }
    before_ = seen;
    // The odd version must be visible before any field changes.
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~SlotLock() {
    if (held()) Atomic(version_).store(before_ + 2, std::memory_order_release);
  }
  SlotLock(const SlotLock&) = delete;
  SlotLock& operator=(const SlotLock&) = delete;

  bool held() const { return (before_ & 1) == 0; }

 private:
  uint32_t& version_;
  uint32_t before_;
};

inline bool IsInFlight(const OperationSlot& slot) {
  return slot.state == static_cast<uint8_t>(OperationState::kEnqueued) ||
         slot.state == static_cast<uint8_t>(OperationState::kStarted);
}

inline uint32_t ThreadId() {
  static thread_local uint32_t id = 0;
  if (id == 0) id = static_cast<uint32_t>(syscall(SYS_gettid));
  return id;
}

inline void RaiseTo(uint64_t& value, uint64_t at_least, bool alone) {
  auto atomic = Atomic(value);
  uint64_t seen = atomic.load(std::memory_order_relaxed);
  if (alone && seen < at_least) return atomic.store(at_least, std::memory_order_relaxed);
  while (seen < at_least && !atomic.compare_exchange_weak(seen, at_least, std::memory_order_relaxed)) {
  }
}

inline void Touch(CommunicatorEntry& entry, int64_t now_ns) {
  Atomic(entry.changed_at_ns).store(now_ns, std::memory_order_release);
}

inline void CopyName(const char* from, CommunicatorEntry* entry) {
  const size_t length = strnlen(from, sizeof(entry->name) - 1);
  memcpy(entry->name, from, length);
  memset(entry->name + length, 0, sizeof(entry->name) - length);
}

// The next unused entry; kNoCommunicator when there is none.
inline uint32_t ClaimCommunicator(RingHeader* header) {
  auto count = Atomic(header->communicator_count);
  uint32_t claimed = count.load(std::memory_order_relaxed);
  do {
    if (claimed >= header->communicator_capacity) return kNoCommunicator;
  } while (!count.compare_exchange_weak(claimed, claimed + 1, std::memory_order_acq_rel));
  return claimed;
}

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_RING_ACCESS_H_
