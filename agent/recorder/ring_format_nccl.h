// The parts of the recorder's ring (ring_format.h) that only an NCCL recorder fills. Same rules: no dependencies,
// little-endian, nanoseconds of CLOCK_MONOTONIC, "atomic" means std::atomic_ref of the field's own type, the rest is
// thread-compatible.

#ifndef LOCKSTEP_AGENT_RECORDER_RING_FORMAT_NCCL_H_
#define LOCKSTEP_AGENT_RECORDER_RING_FORMAT_NCCL_H_

#include <cstdint>

namespace lockstep::ring {

// OperationSlot::algorithm and ::protocol, as NCCL chose them.
enum class Algorithm : uint8_t {
  kUnknown = 0,
  kTree = 1,
  kRing = 2,
  kCollnetDirect = 3,
  kCollnetChain = 4,
  kNvls = 5,
  kNvlsTree = 6,
  kPat = 7,
  kSymmetric = 8,   // a kernel on symmetric memory
  kCopyEngine = 9,  // no kernel at all
};
enum class Protocol : uint8_t { kUnknown = 0, kLl = 1, kLl128 = 2, kSimple = 3 };

// How the NCCL recorder itself does; all fields atomic.
struct NcclStatus {
  uint64_t callbacks;              // that NCCL made, estimated from the operations
  uint64_t callback_ns;            // spent inside them, estimated from samples
  uint32_t governor_level;         // 0 = everything, 1 = without proxy events, 2 = without kernel events as well
  uint32_t governor_changes;       // of the level, since the start
  uint32_t clock_kind;             // 1 = clock_gettime, 2 = the CPU's cycle counter, corrected against it
  uint32_t clock_error_ns;         // largest correction of the cycle counter so far
  uint32_t gpu_clock_error_ns;     // bound of the newest mapping of a GPU's timer to the host's clock; 0 = none yet
  uint32_t chain_state;            // second plugin: 0 = none, 1 = loaded, 2 = could not be loaded
  uint64_t timer_conflicts;        // operations whose GPU times contradict others; they lose their quality
  uint64_t kernel_events_missing;  // operations closed because later ones had finished
  uint64_t foreign_masks;          // times that somebody else (NCCL's RAS) was seen to have written the mask
  uint64_t transfers_dropped;      // proxy events without a place to be added up
  uint64_t reserved[7];
};
static_assert(sizeof(NcclStatus) == 128);

// What the transfers with one peer waited for, added up while the agent asks for it. Every field only grows.
struct TransferWaits {
  uint32_t ready;         // atomic; 0 = unused; the four constant fields may be read once it is not
  uint32_t communicator;  // index in the table
  int32_t peer;           // communicator rank of the other side
  uint32_t is_send;       // 1 = this rank sends
  uint64_t steps;         // atomic; chunks that are over
  uint64_t bytes;         // atomic; their payload, where NCCL tells it
  // Atomic. Sending: until the own GPU had filled the buffer; until the peer gave credit; on the wire. Receiving: for
  // data from the peer; for the flush to the GPU; until the own GPU had emptied the buffer.
  uint64_t waits_ns[3];
  int64_t changed_at_ns;  // atomic
};
static_assert(sizeof(TransferWaits) == 64);

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_RING_FORMAT_NCCL_H_
