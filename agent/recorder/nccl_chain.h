// A second profiler plugin behind ours: NCCL has one slot, LOCKSTEP_CHAIN_PROFILER=/path/libother.so lets two share it.
//
// Each plugin has contexts and handles of its own. NCCL gets the number of a pair of handles; whatever it passes back
// is translated for each, parents included. The masks are united, and the other plugin sees only the types that it
// asked for and their parents, as NCCL itself would do it. It gets the descriptor that NCCL made (a copy, since the
// parents differ), of the same version of the interface: it must offer that version.
//
// Bounded: kMaxPairs events that have not ended; a pair is used again when it ended, and a handle of before then finds
// nothing. Events beyond are given to neither. Thread-safe; allocates nothing after loading the other plugin.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_CHAIN_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_CHAIN_H_

#include <atomic>
#include <cstdint>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_handle.h"

namespace lockstep::ring {

// The types that NCCL delivers to whoever asks for `mask`: those, and what has to exist for them to have parents.
inline uint64_t WithParents(uint64_t mask) {
  using namespace nccl_abi;
  struct Row {
    uint64_t any_of;
    uint64_t need;
  };
  // Children first.
  constexpr Row kRows[] = {
      {kNetPlugin, kProxyStep},
      {kProxyStep, kProxyOp},
      {kKernelPhase, kKernelCh},
      {kProxyOp | kKernelCh, kColl | kP2p},
      {kCeSync | kCeBatch, kCeColl},
      {kColl | kCeColl, kCollApi},
      {kP2p, kP2pApi},
      {kColl | kP2p, kGroup},
      {kCollApi | kP2pApi | kKernelLaunch, kGroupApi},
  };
  for (const Row& row : kRows) {
    if ((mask & row.any_of) != 0) mask |= row.need;
  }
  return mask;
}

// The handles of one event.
struct HandlePair {
  void* own = nullptr;
  void* other = nullptr;
};

class HandlePairs {
 public:
  static constexpr uint32_t kMaxPairs = 32768;

  constexpr HandlePairs() = default;
  HandlePairs(const HandlePairs&) = delete;
  HandlePairs& operator=(const HandlePairs&) = delete;

  // What to hand to NCCL; nullptr = both dropped the event, or there is no room.
  void* Add(const HandlePair& pair) {
    if (pair.own == nullptr && pair.other == nullptr) return nullptr;
    for (uint32_t i = 0; i < kWindow; ++i) {
      const uint64_t number = next_.fetch_add(1, std::memory_order_relaxed) + 1;
      Entry& entry = entries_[number % kMaxPairs];
      bool is_open = false;
      if (!entry.is_open.compare_exchange_strong(is_open, true, std::memory_order_acq_rel)) continue;
      entry.own.store(pair.own, std::memory_order_relaxed);
      entry.other.store(pair.other, std::memory_order_relaxed);
      entry.number.store(number, std::memory_order_release);
      return Handle(HandleType::kPair, 0, number).pointer();
    }
    return nullptr;
  }

  // Both nullptr for a handle that is not, or no longer, of a pair.
  HandlePair Find(const void* pointer) const {
    const Handle handle(pointer);
    const Entry& entry = entries_[handle.number() % kMaxPairs];
    if (handle.type() != HandleType::kPair || entry.number.load(std::memory_order_acquire) != handle.number())
      return {};
    return {entry.own.load(std::memory_order_relaxed), entry.other.load(std::memory_order_relaxed)};
  }

  // The event is over; what comes later still finds the pair until its place is needed.
  void Close(const void* pointer) {
    const Handle handle(pointer);
    Entry& entry = entries_[handle.number() % kMaxPairs];
    if (handle.type() == HandleType::kPair && entry.number.load(std::memory_order_acquire) == handle.number()) {
      entry.is_open.store(false, std::memory_order_release);
    }
  }

 private:
  static constexpr uint32_t kWindow = 64;
  struct Entry {
    std::atomic<uint64_t> number{0};
    std::atomic<void*> own{nullptr};
    std::atomic<void*> other{nullptr};
    std::atomic<bool> is_open{false};
  };

  std::atomic<uint64_t> next_{0};
  Entry entries_[kMaxPairs] = {};
};

// Looks `symbol` up in the plugin of LOCKSTEP_CHAIN_PROFILER, which is loaded at the first call and stays. nullptr = it
// cannot be loaded or does not offer it.
void* FindChainedTable(const char* symbol);

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_CHAIN_H_
