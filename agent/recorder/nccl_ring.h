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
// Thread-safe; Begin only under begin_lock(), which the caller takes because it has more to guard. Never blocks,
// allocates or makes a system call.

#ifndef LOCKSTEP_AGENT_RECORDER_NCCL_RING_H_
#define LOCKSTEP_AGENT_RECORDER_NCCL_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/recorder/nccl_clock.h"
#include "agent/recorder/nccl_context.h"
#include "agent/recorder/nccl_event_hold.h"
#include "agent/recorder/nccl_side.h"
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
  static constexpr uint32_t kMaxSlots = OperationSides::kMaxSlots;

  constexpr NcclRing() = default;
  NcclRing(const NcclRing&) = delete;
  NcclRing& operator=(const NcclRing&) = delete;

  // `header` is of a ring with at most kMaxSlots; nullptr = inert from now on. Not while operations begin elsewhere.
  void Use(RingHeader* header) {
    if (header != nullptr) sides_.SetCapacity(header->operation_capacity);
    header_.store(header, std::memory_order_release);
  }
  RingHeader* header() const { return header_.load(std::memory_order_acquire); }
  std::atomic<uint32_t>& begin_lock() { return begin_lock_; }

  // The ticket; kNoTicket = an event holds its slot, it counts as lost. Under begin_lock().
  uint64_t Begin(NcclContext& context, uint16_t context_index, const NcclOperationStart& start, int64_t now_ns);

  // `contexts` is the table that the index of Begin points into. `gpu_ns` 0 = the GPU gave no time. `clock` is read
  // when the moment matters: not for each channel.
  void StartChannel(NcclContext* contexts, uint64_t ticket, uint32_t channel, uint64_t gpu_ns, CycleClock& clock);
  void StopChannel(NcclContext* contexts, uint64_t ticket, uint32_t channel, uint64_t gpu_ns, CycleClock& clock);
  // Whether StopChannel would find something to do; cheap.
  bool IsChannelRunning(uint64_t ticket, uint32_t channel) {
    const ChannelBits bits = sides_.BitsOf(ticket, channel);
    return bits.has_started() && !bits.has_stopped();
  }

  void EndHost(uint64_t ticket, int64_t now_ns);
  void StartProxy(uint64_t ticket, int64_t now_ns);
  void StopProxy(uint64_t ticket, int64_t now_ns);

  static bool HasMissed(const NcclContext& context) {
    return (context.missed_collectives.load(std::memory_order_relaxed) |
            context.missed_transfers.load(std::memory_order_relaxed)) != 0;
  }
  // Adds operations that could not begin to what was enqueued and lost, and leaves their sequence numbers out. `entry`
  // is of the context's communicator or nullptr. Under the begin lock.
  static void AccountForMissed(NcclContext& context, RingHeader* header, CommunicatorEntry* entry);

  void CountIgnored(uint64_t events = 1);

 private:
  // An operation that has just finished, and what it finds of those before it.
  struct Overtaker {
    NcclContext& context;
    uint32_t communicator;
    uint64_t ticket;
    uint32_t group;
    int64_t now_ns;
  };
  enum class Overtaken { kNotOpen, kTooYoung, kClosed };
  static void FillStart(const NcclOperationStart& start, uint64_t ticket, uint64_t sequence, int64_t now_ns,
                        OperationSlot* slot);
  static void FillSide(const NcclOperationStart& start, uint16_t context_index, OperationSide* side);
  // Only under the begin lock: no other thread writes these.
  static void Increment(uint64_t& counter) { Add(counter, 1, true); }
  void NoteStart(RingHeader* header, OperationSlot& slot, int64_t now_ns);
  void BeginKernel(RingHeader* header, NcclContext& context, OperationSlot& slot, OperationSide& side, uint64_t gpu_ns,
                   CycleClock& clock);
  int64_t EndKernel(RingHeader* header, NcclContext& context, OperationSlot& slot, OperationSide& side,
                    CycleClock& clock);
  void PlaceTimes(NcclContext& context, OperationSlot& slot, OperationSide& side, int64_t now_ns);
  void Finish(RingHeader* header, OperationSlot& slot, int64_t now_ns);
  void PlaceWindow(OperationSlot& slot, const OperationSide& side, int64_t now_ns);
  void PlaceEnvelope(OperationSlot& slot, const OperationSide& side, int64_t now_ns);
  void CloseOvertaken(RingHeader* header, const Overtaker& by);
  Overtaken CloseIfOvertaken(RingHeader* header, uint64_t ticket, const Overtaker& by);
  void DistrustPrevious(RingHeader* header, uint64_t ticket);

  std::atomic<RingHeader*> header_{nullptr};
  OperationSides sides_;
  std::atomic<uint32_t> begin_lock_{0};  // far from header_, which every event reads
};

inline void NcclRing::FillStart(const NcclOperationStart& start, uint64_t ticket, uint64_t sequence, int64_t now_ns,
                                OperationSlot* slot) {
  slot->state = static_cast<uint8_t>(OperationState::kEnqueued);
  slot->kind = static_cast<uint8_t>(start.kind);
  slot->timing_quality = static_cast<uint8_t>(TimingQuality::kHostEnqueue);
  slot->flags = start.flags;
  Atomic(slot->ticket).store(ticket, std::memory_order_relaxed);
  slot->sequence = sequence;
  slot->bytes = start.bytes;
  slot->enqueued_at_ns = now_ns;
  slot->started_at_ns = 0;
  slot->finished_at_ns = 0;
  Atomic(slot->communicator).store(start.communicator, std::memory_order_relaxed);
  slot->peer = start.peer;
  slot->datatype_bytes = start.datatype_bytes;
  slot->channels = start.channels;
  slot->algorithm = static_cast<uint8_t>(start.algorithm);
  slot->protocol = static_cast<uint8_t>(start.protocol);
  slot->waited_ns = kNotWaited;
  slot->thread_id = ThreadId();
  slot->channels_started = 0;
  slot->channels_finished = 0;
  slot->timing_error_ns = 0;
}

inline void NcclRing::FillSide(const NcclOperationStart& start, uint16_t context_index, OperationSide* side) {
  Atomic(side->started_bits).store(0, std::memory_order_relaxed);
  Atomic(side->stopped_bits).store(0, std::memory_order_relaxed);
  side->gpu_start_ns = kNoGpuTime;
  side->gpu_stop_ns = 0;
  side->host_start_ns = 0;
  side->host_stop_ns = 0;
  side->group = static_cast<uint32_t>(start.group);
  side->context = context_index;
  side->proxies_started = 0;
  side->proxies_stopped = 0;
  side->has_kernel = start.has_kernel;
  side->lacks_gpu_time = false;
  side->host_has_ended = false;
  side->uses_wide_bits = false;
}

// Here, for a caller that knows most of `start` when it is compiled.
[[gnu::always_inline]] inline uint64_t NcclRing::Begin(NcclContext& context, uint16_t context_index,
                                                       const NcclOperationStart& start, int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr) return kNoTicket;
  uint64_t sequence = start.sequence;
  CommunicatorEntry* entry = CommunicatorOrNull(header, start.communicator);
  if (HasMissed(context)) [[unlikely]]
    AccountForMissed(context, header, entry);
  if (IsCollective(start.kind) && entry != nullptr) {
    sequence = Add(entry->enqueued, 1, true) + 1;
    Touch(*entry, now_ns);
  }
  const uint64_t ticket = Atomic(header->next_ticket).load(std::memory_order_relaxed);
  OperationSlot& slot = SlotOf(header, ticket);
  // The next ones will be needed by the time this one runs.
  __builtin_prefetch(&SlotOf(header, ticket + 4), 1);
  __builtin_prefetch(&SlotOf(header, ticket + 4).datatype_bytes, 1);
  __builtin_prefetch(&sides_.Of(ticket + 4), 1);
  OperationSide& side = sides_.Of(ticket);
  const bool placed = IsFreeOfEvents(side);
  if (placed) [[likely]] {
    SlotLock lock(slot, true);
    if (IsInFlight(slot)) Increment(header->counters.lost);
    FillStart(start, ticket, sequence, now_ns, &slot);
    FillSide(start, context_index, &side);
  } else {
    Increment(header->counters.lost);
  }
  Increment(header->counters.enqueued);
  Atomic(header->next_ticket).store(ticket + 1, std::memory_order_release);
  return placed ? ticket : kNoTicket;
}

}  // namespace lockstep::ring

#endif  // LOCKSTEP_AGENT_RECORDER_NCCL_RING_H_
