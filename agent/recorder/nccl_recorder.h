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

#include <atomic>
#include <cstdint>

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/nccl_clock.h"
#include "agent/recorder/nccl_context.h"
#include "agent/recorder/nccl_governor.h"
#include "agent/recorder/nccl_gpus.h"
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

// All zero at first, so that its megabytes take no room in the library.
struct NcclRecorder {
  NcclRing ring;
  CycleClock clock;
  NcclContext contexts[kMaxContexts];
  NcclGpus gpus;  // guarded by whoever serializes init and finalize
  PeerSequences sequences;
  NcclTransfers transfers;
  std::atomic<int32_t> pid{0};

  // Guarded by the ring's begin lock, which is held while a mask or a context changes, too.
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
  // Guarded by the ring's begin lock, but for what is learned.
  SpentTime spent;
  NcclMask mask;
  OverheadGovernor governor;
};
extern NcclControl g_nccl_control;

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
