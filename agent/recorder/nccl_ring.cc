#include "agent/recorder/nccl_ring.h"

#include <cstddef>

namespace lockstep::ring {
namespace {

constexpr uint64_t kNoGpuTime = ~uint64_t{0};
// Two kernels of a channel may share a reading of a coarse GPU timer.
constexpr uint64_t kGpuTimerStepNs = 2000;
// Operations that a finished one may have overtaken are looked for this far at a time, and closed only when this many
// operations have begun since: the events of neighbours arrive in any order.
constexpr int kMaxOvertakenPerEvent = 64;
constexpr uint64_t kMinOvertakingDistance = 4;

bool IsState(const OperationSlot& slot, OperationState state) { return slot.state == static_cast<uint8_t>(state); }

bool IsGpuTimed(const OperationSlot& slot) {
  return slot.timing_quality == static_cast<uint8_t>(TimingQuality::kGpuTimer);
}

void SetQuality(OperationSlot& slot, TimingQuality quality) { slot.timing_quality = static_cast<uint8_t>(quality); }

uint32_t ToBound(int64_t nanos) { return nanos < UINT32_MAX ? static_cast<uint32_t>(nanos) : UINT32_MAX; }

// Only under the begin lock: no other thread writes these.
void Increment(uint64_t& counter) {
  Atomic(counter).store(Atomic(counter).load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool HasProgress(const OperationSlot& slot) { return IsCollective(static_cast<OperationKind>(slot.kind)); }

}  // namespace

NcclRing::ChannelBits NcclRing::BitsOf(uint64_t ticket, uint32_t channel) {
  Side& side = SideOf(ticket);
  if (channel < 64) return {side.started_bits, side.stopped_bits, uint64_t{1} << channel};
  WideBits& wide = wide_bits_[ticket % kMaxSlots];
  const uint32_t word = (channel / 64 - 1) % 3;
  return {wide.started[word], wide.stopped[word], uint64_t{1} << (channel % 64)};
}

void NcclRing::FillStart(const NcclOperationStart& start, uint64_t ticket, uint64_t sequence, int64_t now_ns,
                         OperationSlot* slot) {
  slot->state = static_cast<uint8_t>(OperationState::kEnqueued);
  slot->kind = static_cast<uint8_t>(start.kind);
  slot->timing_quality = static_cast<uint8_t>(TimingQuality::kHostEnqueue);
  slot->flags = start.flags;
  slot->ticket = ticket;
  slot->sequence = sequence;
  slot->bytes = start.bytes;
  slot->enqueued_at_ns = now_ns;
  slot->started_at_ns = 0;
  slot->finished_at_ns = 0;
  slot->communicator = start.communicator;
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

void NcclRing::FillSide(const NcclOperationStart& start, uint16_t context_index, uint64_t ticket) {
  Side& side = SideOf(ticket);
  Atomic(side.started_bits).store(0, std::memory_order_relaxed);
  Atomic(side.stopped_bits).store(0, std::memory_order_relaxed);
  side.gpu_start_ns = kNoGpuTime;
  side.gpu_stop_ns = 0;
  side.host_start_ns = 0;
  side.host_stop_ns = 0;
  side.group = static_cast<uint32_t>(start.group);
  side.context = context_index;
  side.proxies_started = 0;
  side.proxies_stopped = 0;
  side.has_kernel = start.has_kernel;
  side.lacks_gpu_time = false;
  side.host_has_ended = false;
  side.uses_wide_bits = false;
}

void NcclRing::AccountForMissed(NcclContext& context, RingHeader* header, CommunicatorEntry* entry) {
  if (context.missed_collectives.load(std::memory_order_relaxed) == 0 &&
      context.missed_transfers.load(std::memory_order_relaxed) == 0) {
    return;
  }
  const uint64_t collectives = context.missed_collectives.exchange(0, std::memory_order_relaxed);
  const uint64_t all = collectives + context.missed_transfers.exchange(0, std::memory_order_relaxed);
  if (entry != nullptr) Add(entry->enqueued, collectives, true);
  Add(header->counters.enqueued, all, true);
  Add(header->counters.lost, all, true);
}

uint64_t NcclRing::Begin(NcclContext& context, uint16_t context_index, const NcclOperationStart& start,
                         int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr) return kNoTicket;
  uint64_t sequence = start.sequence;
  CommunicatorEntry* entry = CommunicatorOrNull(header, start.communicator);
  AccountForMissed(context, header, entry);
  if (IsCollective(start.kind) && entry != nullptr) {
    sequence = Add(entry->enqueued, 1, true) + 1;
    Touch(*entry, now_ns);
  }
  const uint64_t ticket = Atomic(header->next_ticket).load(std::memory_order_relaxed);
  OperationSlot& slot = SlotOf(header, ticket);
  // The next ones will be needed by the time this one runs.
  __builtin_prefetch(&SlotOf(header, ticket + 4), 1);
  __builtin_prefetch(reinterpret_cast<char*>(&SlotOf(header, ticket + 4)) + 64, 1);
  __builtin_prefetch(&SideOf(ticket + 4), 1);
  bool placed = false;
  {
    SlotLock lock(slot, false);
    if (lock.held()) {
      if (IsInFlight(slot)) Increment(header->counters.lost);
      FillStart(start, ticket, sequence, now_ns, &slot);
      FillSide(start, context_index, ticket);
      placed = true;
    }
  }
  if (!placed) Increment(header->counters.lost);
  Increment(header->counters.enqueued);
  Atomic(header->next_ticket).store(ticket + 1, std::memory_order_release);
  return placed ? ticket : kNoTicket;
}

void NcclRing::NoteStart(RingHeader* header, OperationSlot& slot, int64_t now_ns) {
  slot.state = static_cast<uint8_t>(OperationState::kStarted);
  slot.started_at_ns = now_ns;
  CommunicatorEntry* entry = CommunicatorOrNull(header, slot.communicator);
  if (entry == nullptr || !HasProgress(slot)) return;
  RaiseTo(entry->started, slot.sequence, false);
  Touch(*entry, now_ns);
}

// The first kernel of an operation has begun.
void NcclRing::BeginKernel(RingHeader* header, NcclContext& context, OperationSlot& slot, Side& side, uint64_t gpu_ns,
                           int64_t now_ns) {
  side.host_start_ns = now_ns;
  if (gpu_ns != 0) {
    side.gpu_start_ns = gpu_ns;
    context.gpu_clock.Observe(static_cast<int64_t>(gpu_ns), slot.enqueued_at_ns, now_ns);
  }
  if (!IsState(slot, OperationState::kEnqueued)) return;  // closed before: its end will correct the times
  NoteStart(header, slot, now_ns);
  PlaceTimes(context, slot, side, now_ns);
}

void NcclRing::PlaceWindow(OperationSlot& slot, const Side& side, int64_t now_ns) {
  SetQuality(slot, TimingQuality::kKernelWindow);
  slot.started_at_ns = side.host_start_ns;
  if (IsState(slot, OperationState::kFinished)) slot.finished_at_ns = now_ns;
  slot.timing_error_ns = 0;
}

// Start and, once it is known, end on the host's clock.
void NcclRing::PlaceTimes(NcclContext& context, OperationSlot& slot, Side& side, int64_t now_ns) {
  const bool is_over = IsState(slot, OperationState::kFinished);
  const GpuClock::Mapping mapping = context.gpu_clock.Map();
  const bool fits = !is_over || (side.gpu_stop_ns >= side.gpu_start_ns &&
                                 static_cast<int64_t>(side.gpu_stop_ns - side.gpu_start_ns) <=
                                     now_ns - slot.enqueued_at_ns + GpuClock::kDriftNs);
  if (side.lacks_gpu_time || side.gpu_start_ns == kNoGpuTime || mapping.error_ns < 0 || !fits) {
    if (!fits && !side.lacks_gpu_time) Add(header()->nccl.timer_conflicts, 1, false);
    return PlaceWindow(slot, side, now_ns);
  }
  SetQuality(slot, TimingQuality::kGpuTimer);
  slot.timing_error_ns = ToBound(mapping.error_ns);
  int64_t start_ns = static_cast<int64_t>(side.gpu_start_ns) + mapping.offset_ns;
  if (start_ns > now_ns) start_ns = now_ns;
  if (!is_over) {
    slot.started_at_ns = start_ns > slot.enqueued_at_ns ? start_ns : slot.enqueued_at_ns;
    return;
  }
  // Both move together: their difference is what the GPU measured.
  const auto duration_ns = static_cast<int64_t>(side.gpu_stop_ns - side.gpu_start_ns);
  if (start_ns < slot.enqueued_at_ns) start_ns = slot.enqueued_at_ns;
  if (start_ns + duration_ns > now_ns) start_ns = now_ns - duration_ns;
  slot.started_at_ns = start_ns;
  slot.finished_at_ns = start_ns + duration_ns;
  Atomic(header()->nccl.gpu_clock_error_ns).store(slot.timing_error_ns, std::memory_order_relaxed);
}

void NcclRing::Finish(RingHeader* header, OperationSlot& slot, int64_t now_ns) {
  slot.state = static_cast<uint8_t>(OperationState::kFinished);
  Add(header->counters.finished, 1, false);
  CommunicatorEntry* entry = CommunicatorOrNull(header, slot.communicator);
  if (entry == nullptr || !HasProgress(slot)) return;
  RaiseTo(entry->started, slot.sequence, false);
  RaiseTo(entry->finished, slot.sequence, false);
  Touch(*entry, now_ns);
}

void NcclRing::StartChannel(NcclContext* contexts, uint64_t ticket, uint32_t channel, uint64_t gpu_ns,
                            CycleClock& clock) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  OperationSlot& slot = SlotOf(header, ticket);
  Side& side = SideOf(ticket);
  uint64_t distrusted = kNoTicket;
  {
    SlotLock lock(slot, false);
    if (!lock.held() || slot.ticket != ticket || IsState(slot, OperationState::kEmpty)) return CountIgnored();
    if (channel >= 64 && !side.uses_wide_bits) {
      ClearWideBits(wide_bits_[ticket % kMaxSlots]);
      side.uses_wide_bits = true;
    }
    const ChannelBits bits = BitsOf(ticket, channel);
    if ((bits.started & bits.mask) != 0) return CountIgnored();  // a graph's replay of a handle
    Atomic(bits.started).store(bits.started | bits.mask, std::memory_order_relaxed);
    ++slot.channels_started;
    NcclContext& context = contexts[side.context];
    if (gpu_ns == 0) {
      side.lacks_gpu_time = true;
    } else if (channel < kHistoryChannels) {
      const ChannelHistory& history = context.history[channel];
      if (history.ended_gpu_ns.load(std::memory_order_relaxed) > gpu_ns + kGpuTimerStepNs) {
        distrusted = history.ticket.load(std::memory_order_relaxed);
      }
    }
    if (side.host_start_ns == 0) {
      BeginKernel(header, context, slot, side, gpu_ns, clock.NowNs());
    } else if (gpu_ns != 0 && gpu_ns < side.gpu_start_ns) {
      const bool moves = IsGpuTimed(slot) && IsState(slot, OperationState::kStarted);
      if (moves) slot.started_at_ns -= static_cast<int64_t>(side.gpu_start_ns - gpu_ns);
      side.gpu_start_ns = gpu_ns;
    }
  }
  if (distrusted != kNoTicket) DistrustPrevious(header, distrusted);
}

// The host was so late that NCCL's ring of GPU times had turned: the end of that operation is of a later one.
void NcclRing::DistrustPrevious(RingHeader* header, uint64_t ticket) {
  OperationSlot& slot = SlotOf(header, ticket);
  SlotLock lock(slot, false);
  if (!lock.held() || slot.ticket != ticket || !IsState(slot, OperationState::kFinished)) return;
  if (!IsGpuTimed(slot)) return;
  PlaceWindow(slot, SideOf(ticket), SideOf(ticket).host_stop_ns);
  Add(header->nccl.timer_conflicts, 1, false);
}

bool NcclRing::IsChannelRunning(uint64_t ticket, uint32_t channel) {
  RingHeader* header = this->header();
  if (header == nullptr) return false;
  const ChannelBits bits = BitsOf(ticket, channel);
  return (Atomic(bits.started).load(std::memory_order_relaxed) & bits.mask) != 0 &&
         (Atomic(bits.stopped).load(std::memory_order_relaxed) & bits.mask) == 0;
}

void NcclRing::StopChannel(NcclContext* contexts, uint64_t ticket, uint32_t channel, uint64_t gpu_ns,
                           CycleClock& clock) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  OperationSlot& slot = SlotOf(header, ticket);
  Side& side = SideOf(ticket);
  uint32_t group = 0;
  NcclContext* context = nullptr;
  int64_t now_ns = 0;
  {
    SlotLock lock(slot, false);
    if (!lock.held() || slot.ticket != ticket || IsState(slot, OperationState::kEmpty)) return CountIgnored();
    const ChannelBits bits = BitsOf(ticket, channel);
    const bool has_bits = channel < 64 || side.uses_wide_bits;
    if (!has_bits || (bits.started & bits.mask) == 0 || (bits.stopped & bits.mask) != 0) return CountIgnored();
    Atomic(bits.stopped).store(bits.stopped | bits.mask, std::memory_order_relaxed);
    ++slot.channels_finished;
    context = &contexts[side.context];
    group = side.group;
    if (gpu_ns == 0) {
      side.lacks_gpu_time = true;
    } else {
      if (gpu_ns > side.gpu_stop_ns) side.gpu_stop_ns = gpu_ns;
      if (channel < kHistoryChannels) {
        context->history[channel].ended_gpu_ns.store(gpu_ns, std::memory_order_relaxed);
        context->history[channel].ticket.store(ticket, std::memory_order_relaxed);
      }
    }
    const bool is_late = IsState(slot, OperationState::kFinished);
    const bool counts = slot.channels != 0 && context->counts_all_channels.load(std::memory_order_relaxed);
    if (slot.channels_finished < slot.channels_started || (counts && slot.channels_finished < slot.channels)) return;
    now_ns = clock.NowNs();
    side.host_stop_ns = now_ns;
    if (gpu_ns != 0) context->gpu_clock.Observe(static_cast<int64_t>(gpu_ns), 0, now_ns);
    if (!is_late) Finish(header, slot, now_ns);
    PlaceTimes(*context, slot, side, now_ns);
    if (is_late) return;
  }
  CloseOvertaken(header, {*context, context->communicator.load(std::memory_order_relaxed), ticket, group, now_ns});
}

// What became of an operation that a later one has overtaken.
NcclRing::Overtaken NcclRing::CloseIfOvertaken(RingHeader* header, uint64_t ticket, const Overtaker& by) {
  OperationSlot& slot = SlotOf(header, ticket);
  SlotLock lock(slot, false);
  if (!lock.held()) return Overtaken::kTooYoung;
  if (slot.ticket != ticket || slot.communicator != by.communicator || !IsInFlight(slot)) return Overtaken::kNotOpen;
  const Side& side = SideOf(ticket);
  if (by.ticket - ticket < kMinOvertakingDistance || side.group == by.group) return Overtaken::kTooYoung;
  NcclContext& context = by.context;
  if (slot.channels_started > 0 && slot.channels_started == slot.channels_finished) {
    context.counts_all_channels.store(false, std::memory_order_relaxed);
  }
  const bool has_begun = IsState(slot, OperationState::kStarted);
  if (!has_begun) slot.started_at_ns = slot.enqueued_at_ns;
  slot.finished_at_ns = by.now_ns;
  Finish(header, slot, by.now_ns);
  SetQuality(slot, has_begun ? TimingQuality::kKernelWindow : TimingQuality::kHostEnqueue);
  Add(header->nccl.kernel_events_missing, 1, false);
  return Overtaken::kClosed;
}

void NcclRing::CloseOvertaken(RingHeader* header, const Overtaker& by) {
  uint64_t at = by.context.oldest_open.load(std::memory_order_relaxed);
  const uint64_t capacity = header->operation_capacity;
  if (at + capacity <= by.ticket) at = by.ticket + 1 - capacity;
  for (int i = 0; i < kMaxOvertakenPerEvent && at <= by.ticket; ++i, ++at) {
    if (at != by.ticket && CloseIfOvertaken(header, at, by) == Overtaken::kTooYoung) break;
  }
  by.context.oldest_open.store(at, std::memory_order_relaxed);
}

void NcclRing::EndHost(uint64_t ticket, int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  OperationSlot& slot = SlotOf(header, ticket);
  SlotLock lock(slot, false);
  if (!lock.held() || slot.ticket != ticket || !IsInFlight(slot)) return CountIgnored();
  Side& side = SideOf(ticket);
  side.host_has_ended = true;
  if (side.has_kernel || side.proxies_started != side.proxies_stopped) return;
  PlaceEnvelope(slot, side, now_ns);
  Finish(header, slot, now_ns);
}

void NcclRing::PlaceEnvelope(OperationSlot& slot, const Side& side, int64_t now_ns) {
  const bool has_proxies = side.proxies_started > 0;
  SetQuality(slot, has_proxies ? TimingQuality::kProxyEnvelope : TimingQuality::kHostEnqueue);
  slot.started_at_ns = has_proxies ? side.host_start_ns : slot.enqueued_at_ns;
  slot.finished_at_ns = now_ns;
}

void NcclRing::StartProxy(uint64_t ticket, int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  OperationSlot& slot = SlotOf(header, ticket);
  SlotLock lock(slot, false);
  if (!lock.held() || slot.ticket != ticket || IsState(slot, OperationState::kEmpty)) return CountIgnored();
  Side& side = SideOf(ticket);
  if (side.has_kernel) return;  // it will tell better
  if (side.proxies_started++ > 0) return;
  side.host_start_ns = now_ns;
  if (!IsState(slot, OperationState::kEnqueued)) return;
  SetQuality(slot, TimingQuality::kProxyEnvelope);
  NoteStart(header, slot, now_ns);
}

void NcclRing::StopProxy(uint64_t ticket, int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  OperationSlot& slot = SlotOf(header, ticket);
  SlotLock lock(slot, false);
  if (!lock.held() || slot.ticket != ticket || IsState(slot, OperationState::kEmpty)) return CountIgnored();
  Side& side = SideOf(ticket);
  if (side.has_kernel) return;
  if (side.proxies_stopped == side.proxies_started) return CountIgnored();
  if (++side.proxies_stopped < side.proxies_started || !side.host_has_ended) return;
  PlaceEnvelope(slot, side, now_ns);
  if (IsInFlight(slot)) Finish(header, slot, now_ns);
}

void NcclRing::CountIgnored(uint64_t events) {
  RingHeader* header = this->header();
  if (header != nullptr) Add(header->counters.events_ignored, events, false);
}

}  // namespace lockstep::ring
