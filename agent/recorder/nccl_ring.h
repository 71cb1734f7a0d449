// The operations of an NCCL job in the ring, filled in place from the events of the profiler interface.
//
//   Begin         host enqueue                                    -> kEnqueued
//   StartChannel  a kernel has begun on a channel; the first      -> kStarted
//   StopChannel   a kernel has ended; the last of all channels    -> kFinished
//   EndHost       the host has enqueued it; where no kernel events are to come, the end -> kFinished
//   StartProxy / StopProxy: the network proxy, where nothing better is to come
//
// "The last channel" is the one that completes the number that NCCL announced. NCCL's count is a byte and may be
// missing, wrong or 256, so that an operation with an unknown number ends when no channel is running, and one whose
// count never comes true is closed when a later operation of the communicator, of another group, has finished. A later
// event corrects a finished operation's times in place; it never reopens it.
//
// Events carry tickets; one whose operation was overwritten, or never was, is counted and ignored. Times come from the
// GPU when it gave any for all channels, and from the moments of the callbacks otherwise; timing_quality says which.
//
// Thread-safe; Begin only under the caller's begin lock. Never blocks, allocates or makes a system call.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_RING_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/recorder/nccl_clock.h"
#include "agent/recorder/nccl_context.h"
#include "agent/recorder/ring_access.h"
#include "agent/recorder/ring_format.h"
#include "agent/recorder/ring_writer.h"

namespace lockstep::ring {

struct NcclOperationStart {
  OperationKind kind = OperationKind::kUnknown;
  uint8_t flags = 0;
  bool has_kernel = false;  // kernel events are to come
  uint32_t communicator = kNoCommunicator;
  uint64_t sequence = 0;  // Send and Recv only
  uint64_t bytes = 0;
  int32_t peer = kNoPeer;
  uint32_t datatype_bytes = 0;
  uint16_t channels = 0;  // 0 = unknown
  Algorithm algorithm = Algorithm::kUnknown;
  Protocol protocol = Protocol::kUnknown;
  uint64_t group = 0;  // equal for the operations of one group
};

class NcclRing {
 public:
  static constexpr uint32_t kMaxSlots = 32768;

  constexpr NcclRing() = default;
  NcclRing(const NcclRing&) = delete;
  NcclRing& operator=(const NcclRing&) = delete;

  // `header` is of a ring with at most kMaxSlots; nullptr = inert from now on.
  void Use(RingHeader* header) { header_.store(header, std::memory_order_release); }
  RingHeader* header() const { return header_.load(std::memory_order_acquire); }

  // The ticket; kNoTicket = its slot is held, it counts as lost.
  uint64_t Begin(NcclContext& context, uint16_t context_index, const NcclOperationStart& start, int64_t now_ns);

  // `contexts` is the table that the index of Begin points into. `gpu_ns` 0 = the GPU gave no time. `clock` is read
  // when the moment matters: not for each channel.
  void StartChannel(NcclContext* contexts, uint64_t ticket, uint32_t channel, uint64_t gpu_ns, CycleClock& clock);
  void StopChannel(NcclContext* contexts, uint64_t ticket, uint32_t channel, uint64_t gpu_ns, CycleClock& clock);
  // Whether StopChannel would find something to do; cheap.
  bool IsChannelRunning(uint64_t ticket, uint32_t channel);

  void EndHost(uint64_t ticket, int64_t now_ns);
  void StartProxy(uint64_t ticket, int64_t now_ns);
  void StopProxy(uint64_t ticket, int64_t now_ns);

  // Adds operations that could not begin to what was enqueued and lost, and leaves their sequence numbers out. `entry`
  // is of the context's communicator or nullptr. Under the begin lock.
  static void AccountForMissed(NcclContext& context, RingHeader* header, CommunicatorEntry* entry);

  void CountIgnored(uint64_t events = 1);

 private:
  // What the recorder alone knows of an operation. Guarded by the lock of its slot.
  struct alignas(64) Side {
    uint64_t started_bits;  // by channel, the first 64; atomic
    uint64_t stopped_bits;
    uint64_t gpu_start_ns;
    uint64_t gpu_stop_ns;
    int64_t host_start_ns;  // of the first kernel, as the host saw it, or of the first proxy
    int64_t host_stop_ns;   // of the last kernel
    uint32_t group;         // its low bits
    uint16_t context;
    uint16_t proxies_started;
    uint16_t proxies_stopped;
    bool has_kernel;
    bool lacks_gpu_time;  // of at least one channel
    bool host_has_ended;
    bool uses_wide_bits;
  };
  static_assert(sizeof(Side) == 64);
  // Channels 64 to 255, which no NCCL of today has.
  struct WideBits {
    uint64_t started[3];
    uint64_t stopped[3];
  };
  static void ClearWideBits(WideBits& bits) {
    for (uint64_t& word : bits.started) Atomic(word).store(0, std::memory_order_relaxed);
    for (uint64_t& word : bits.stopped) Atomic(word).store(0, std::memory_order_relaxed);
  }
  // An operation that has just finished, and what it finds of those before it.
  struct Overtaker {
    NcclContext& context;
    uint32_t communicator;
    uint64_t ticket;
    uint32_t group;
    int64_t now_ns;
  };
  enum class Overtaken { kNotOpen, kTooYoung, kClosed };
  struct ChannelBits {
    uint64_t& started;
    uint64_t& stopped;
    uint64_t mask;
  };

  Side& SideOf(uint64_t ticket) { return sides_[ticket % kMaxSlots]; }
  ChannelBits BitsOf(uint64_t ticket, uint32_t channel);
  void FillStart(const NcclOperationStart& start, uint64_t ticket, uint64_t sequence, int64_t now_ns,
                 OperationSlot* slot);
  void FillSide(const NcclOperationStart& start, uint16_t context_index, uint64_t ticket);
  void NoteStart(RingHeader* header, OperationSlot& slot, int64_t now_ns);
  void BeginKernel(RingHeader* header, NcclContext& context, OperationSlot& slot, Side& side, uint64_t gpu_ns,
                   int64_t now_ns);
  void PlaceTimes(NcclContext& context, OperationSlot& slot, Side& side, int64_t now_ns);
  void Finish(RingHeader* header, OperationSlot& slot, int64_t now_ns);
  void PlaceWindow(OperationSlot& slot, const Side& side, int64_t now_ns);
  void PlaceEnvelope(OperationSlot& slot, const Side& side, int64_t now_ns);
  void CloseOvertaken(RingHeader* header, const Overtaker& by);
  Overtaken CloseIfOvertaken(RingHeader* header, uint64_t ticket, const Overtaker& by);
  void DistrustPrevious(RingHeader* header, uint64_t ticket);

  std::atomic<RingHeader*> header_{nullptr};
  Side sides_[kMaxSlots] = {};
  WideBits wide_bits_[kMaxSlots] = {};
};

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_RING_H_
