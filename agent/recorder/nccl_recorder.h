// The process-wide recorder behind libnccl-profiler-lockstep.so: NCCL's profiler plugin (nccl_abi.h) that writes a
// ring.
//
// NCCL loads the library with its first communicator and calls init for each; the ring opens with the first. The
// library stays loaded for ever (-z nodelete), so that late events and reinitialisation find what they expect. It has
// no thread, no exit handler and no dependency, and disables itself rather than guess: the reason is in the ring.
//
// Switches, read once: LOCKSTEP_RECORDER=off (leaves a disabled ring), LOCKSTEP_FORCE_ABI=N (read events as those of
// version N, believe them whatever NCCL's version), LOCKSTEP_CHAIN_PROFILER=path (nccl_chain.h),
// LOCKSTEP_RECORDER_BUDGET=percent of one core (nccl_governor.h), LOCKSTEP_RING_DIR.
//
// Thread-safe like NCCL's callbacks. Static storage, constant-initialized, never destroyed.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_RECORDER_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_RECORDER_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_clock.h"
#include "agent/recorder/nccl_context.h"
#include "agent/recorder/nccl_governor.h"
#include "agent/recorder/nccl_mask.h"
#include "agent/recorder/nccl_names.h"
#include "agent/recorder/nccl_ring.h"
#include "agent/recorder/nccl_transfers.h"
#include "agent/recorder/peer_sequences.h"

namespace lockstep::ring {

// What init tells of a communicator; all but the mask is unknown below version 4.
struct NcclCommunicatorStart {
  int abi = 0;
  int* mask = nullptr;
  uint64_t hash = 0;  // 0 = each event will tell
  const char* name = nullptr;
  int32_t node_count = -1;
  int32_t size = 0;
  int32_t rank = -1;
  nccl_abi::Logger log = nullptr;
  const void* caller = nullptr;  // an address inside NCCL
};

// Estimates of what callbacks cost, from samples; nanoseconds. Relaxed: an estimate may lose an update.
struct CallbackCosts {
  std::atomic<uint32_t> operation{60};  // begin and end of one operation on the launching thread
  std::atomic<uint32_t> channel{60};    // all events of one channel
  std::atomic<uint32_t> step{60};
};

// All zero at first, so that its megabytes take no room in the library.
struct NcclRecorder {
  NcclRing ring;
  CycleClock clock;
  NcclContext contexts[kMaxContexts];
  PeerSequences sequences;
  NcclTransfers transfers;
  std::atomic<int32_t> pid{0};
  std::atomic<uint32_t> begin_lock{0};  // held while an operation begins, and while a mask or a context changes

  // Guarded by begin_lock.
  NameMemo names;
  int64_t next_update_ns = 0;
  uint64_t channels_asked = 0;  // channels of operations with kernel events
  uint64_t channels_all = 0;    // of all operations
  uint32_t open_contexts = 0;
  uint32_t implausible_events = 0;  // in a row
  uint32_t chain_state = 0;
};
extern NcclRecorder g_nccl;

struct NcclControl {
  CallbackCosts costs;
  // Guarded by g_nccl.begin_lock.
  NcclMask mask;
  OverheadGovernor governor;
};
extern NcclControl g_nccl_control;

// Bounded: check held(). What it guards takes some twenty nanoseconds, unless the holder is descheduled: then the CPU
// is offered to it a number of times, which costs next to nothing where CPUs are free, and is better than an operation
// that nobody sees where they are not.
class BeginLock {
 public:
  static constexpr int kMaxSpins = 2048;
  static constexpr int kMaxYields = 256;

  explicit BeginLock(std::atomic<uint32_t>& word, int max_spins = kMaxSpins, int max_yields = 0)
      : word_(word), held_(TryOnce(word)) {
    if (!held_) [[unlikely]]
      held_ = Wait(word, max_spins, max_yields);
  }
  ~BeginLock() {
    if (held_) word_.store(0, std::memory_order_release);
  }
  BeginLock(const BeginLock&) = delete;
  BeginLock& operator=(const BeginLock&) = delete;
  bool held() const { return held_; }

 private:
  static bool TryOnce(std::atomic<uint32_t>& word) {
    uint32_t expected = 0;
    return word.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  [[gnu::noinline, gnu::cold]] static bool Wait(std::atomic<uint32_t>& word, int max_spins, int max_yields) {
    for (int spin = 0; spin < max_spins + max_yields; ++spin) {
      if (word.load(std::memory_order_relaxed) == 0 && TryOnce(word)) return true;
      if (spin < max_spins) {
        CpuPause();
      } else {
        sched_yield();
      }
    }
    return false;
  }

  std::atomic<uint32_t>& word_;
  bool held_;
};

// init: the context to hand to NCCL; nullptr = nothing is recorded for this communicator, and the mask is 0.
NcclContext* OpenNcclContext(const NcclCommunicatorStart& start);
void CloseNcclContext(NcclContext* context);

// Adds the communicator to the ring once its hash is known (versions 1 to 3). Under the begin lock.
void NameNcclContext(NcclContext& context, uint64_t hash, const char* name, int32_t rank, int64_t now_ns);

// Control word, governor, RAS: every kUpdateNanos, and when the mask is seen to be stale. Under the begin lock.
inline constexpr int64_t kUpdateNanos = 10'000'000;
void UpdateNcclMask(RingHeader* header, int64_t now_ns);

// What a second plugin asks for, and whether it could be loaded (NcclStatus::chain_state).
void ChainNccl(const std::atomic<int>* mask_word, uint32_t chain_state);

// Ends recording for good: says why in the ring and asks NCCL for nothing more.
void DisableNccl(DisabledReason reason);

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_RECORDER_H_
