#include "agent/recorder/nccl_ring.h"

#include <cstddef>

namespace lockstep::ring {
namespace {

// Two kernels of a channel may share a reading of a coarse GPU timer.
constexpr uint64_t kGpuTimerStepNs = 2000;
// Operations that a finished one may have overtaken are looked for this far at a time, and closed only when this many
// operations have begun since: the events of neighbours arrive in any order.
constexpr int kMaxOvertakenPerEvent = 64;
constexpr uint64_t kMinOvertakingDistance = 4;
// A begin that is known this well, and follows this soon, needs no reading of the clock.
constexpr int64_t kMaxTrustedErrorNs = 100'000;
constexpr int64_t kMaxTrustedDelayNs = 10'000'000;

bool IsState(const OperationSlot& slot, OperationState state) { return slot.state == static_cast<uint8_t>(state); }

bool IsGpuTimed(const OperationSlot& slot) {
  return slot.timing_quality == static_cast<uint8_t>(TimingQuality::kGpuTimer);
}

void SetQuality(OperationSlot& slot, TimingQuality quality) { slot.timing_quality = static_cast<uint8_t>(quality); }

uint32_t ToBound(int64_t nanos) { return nanos < UINT32_MAX ? static_cast<uint32_t>(nanos) : UINT32_MAX; }

bool HasProgress(const OperationSlot& slot) { return IsCollective(static_cast<OperationKind>(slot.kind)); }

}  // namespace

void NcclRing::AccountForMissed(NcclContext& context, RingHeader* header, CommunicatorEntry* entry) {
  if (!HasMissed(context)) return;
  const uint64_t collectives = context.missed_collectives.exchange(0, std::memory_order_relaxed);
  const uint64_t all = collectives + context.missed_transfers.exchange(0, std::memory_order_relaxed);
  if (entry != nullptr) Add(entry->enqueued, collectives, true);
  Add(header->counters.enqueued, all, true);
  Add(header->counters.lost, all, true);
}

inline void NcclRing::NoteStart(RingHeader* header, OperationSlot& slot, int64_t now_ns) {
  slot.state = static_cast<uint8_t>(OperationState::kStarted);
  slot.started_at_ns = now_ns;
  CommunicatorEntry* entry = CommunicatorOrNull(header, slot.communicator);
  if (entry == nullptr || !HasProgress(slot)) return;
  RaiseTo(entry->started, slot.sequence, false);
  Touch(*entry, now_ns);
}

// The first kernel of an operation has begun. A reading of the clock costs as much as all the rest: where the GPU's
// timer is placed well, it tells the moment, late by its error.
void NcclRing::BeginKernel(RingHeader* header, NcclContext& context, OperationSlot& slot, OperationSide& side,
                           uint64_t gpu_ns, CycleClock& clock) {
  GpuClock& gpu_clock = *context.gpu_clock.load(std::memory_order_relaxed);
  GpuClock::Mapping mapping;
  if (gpu_ns != 0) {
    side.gpu_start_ns = gpu_ns;
    gpu_clock.ObserveEnqueued(static_cast<int64_t>(gpu_ns), slot.enqueued_at_ns);
    mapping = gpu_clock.Map(static_cast<int64_t>(gpu_ns));
  }
  int64_t start_ns = mapping.HostTime(gpu_ns);
  int64_t now_ns = start_ns + mapping.error_ns;
  const bool is_known = mapping.error_ns >= 0 && mapping.error_ns <= kMaxTrustedErrorNs &&
                        now_ns <= slot.enqueued_at_ns + kMaxTrustedDelayNs;
  if (!is_known) {
    now_ns = clock.NowNs();
    if (gpu_ns != 0) {
      gpu_clock.Observe(static_cast<int64_t>(gpu_ns), now_ns);
      mapping = gpu_clock.Map(static_cast<int64_t>(gpu_ns));
      start_ns = mapping.HostTime(gpu_ns);
      if (start_ns > now_ns) start_ns = now_ns;
    }
  }
  if (now_ns < slot.enqueued_at_ns) now_ns = slot.enqueued_at_ns;
  side.host_start_ns = now_ns;
  if (!IsState(slot, OperationState::kEnqueued)) return;  // closed before: its end will correct the times
  NoteStart(header, slot, now_ns);
  if (mapping.error_ns < 0) return PlaceWindow(slot, side, now_ns);
  SetQuality(slot, TimingQuality::kGpuTimer);
  slot.timing_error_ns = ToBound(mapping.error_ns);
  slot.started_at_ns = start_ns > slot.enqueued_at_ns ? start_ns : slot.enqueued_at_ns;
}

void NcclRing::PlaceWindow(OperationSlot& slot, const OperationSide& side, int64_t now_ns) {
  SetQuality(slot, TimingQuality::kKernelWindow);
  slot.started_at_ns = side.host_start_ns;
  if (IsState(slot, OperationState::kFinished)) slot.finished_at_ns = now_ns;
  slot.timing_error_ns = 0;
}

// Start and end of a finished operation on the host's clock.
inline void NcclRing::PlaceTimes(NcclContext& context, OperationSlot& slot, OperationSide& side, int64_t now_ns) {
  const auto duration_ns = static_cast<int64_t>(side.gpu_stop_ns - side.gpu_start_ns);
  const int64_t longest_ns = now_ns - slot.enqueued_at_ns + GpuClock::kMaxLaunchDelayNs;
  const bool fits = !side.lacks_gpu_time && duration_ns >= 0 && duration_ns <= longest_ns;
  GpuClock::Mapping mapping;
  if (fits) [[likely]] {
    GpuClock& gpu_clock = *context.gpu_clock.load(std::memory_order_relaxed);
    gpu_clock.Observe(static_cast<int64_t>(side.gpu_stop_ns), now_ns);
    mapping = gpu_clock.Map(static_cast<int64_t>(side.gpu_start_ns));
  } else if (!side.lacks_gpu_time) {
    Add(header()->nccl.timer_conflicts, 1, false);
  }
  if (mapping.error_ns < 0) [[unlikely]]
    return PlaceWindow(slot, side, now_ns);
  SetQuality(slot, TimingQuality::kGpuTimer);
  slot.timing_error_ns = ToBound(mapping.error_ns);
  // Both move together: their difference is what the GPU measured. They leave the mapping, and with it the gaps to
  // their neighbours, only where it contradicts what the host knows by more than it can be off.
  int64_t start_ns = mapping.HostTime(side.gpu_start_ns);
  if (start_ns + duration_ns > now_ns + GpuClock::kMaxSlewNs) start_ns = now_ns - duration_ns;
  if (start_ns < slot.enqueued_at_ns - GpuClock::kMaxLaunchDelayNs) start_ns = slot.enqueued_at_ns;
  // NCCL tells of some operations when their kernel has been launched and may run already.
  if (start_ns < slot.enqueued_at_ns) slot.enqueued_at_ns = start_ns;
  slot.started_at_ns = start_ns;
  slot.finished_at_ns = start_ns + duration_ns;
  Atomic(header()->nccl.gpu_clock_error_ns).store(slot.timing_error_ns, std::memory_order_relaxed);
}

inline void NcclRing::Finish(RingHeader* header, OperationSlot& slot, int64_t now_ns) {
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
  OperationSide& side = sides_.Of(ticket);
  uint64_t distrusted = kNoTicket;
  {
    EventHold hold(header, slot, side, ticket, begin_lock_);
    if (!hold.held()) [[unlikely]]
      return CountIgnored();
    if (channel >= OperationSides::kNarrowChannels && !side.uses_wide_bits) [[unlikely]]
      sides_.UseWideBits(ticket);
    const ChannelBits bits = sides_.BitsOf(ticket, channel);
    if (bits.has_started()) [[unlikely]]
      return CountIgnored();  // a graph's replay of a handle
    bits.Start();
    ++slot.channels_started;
    NcclContext& context = contexts[side.context];
    if (gpu_ns == 0) [[unlikely]] {
      side.lacks_gpu_time = true;
    } else if (channel < kHistoryChannels) [[likely]] {
      const ChannelHistory& history = context.history[channel];
      if (history.ended_gpu_ns.load(std::memory_order_relaxed) > gpu_ns + kGpuTimerStepNs) [[unlikely]] {
        distrusted = history.ticket.load(std::memory_order_relaxed);
      }
    }
    if (side.host_start_ns == 0) {
      BeginKernel(header, context, slot, side, gpu_ns, clock);
    } else if (gpu_ns != 0 && gpu_ns < side.gpu_start_ns) {
      const bool moves = IsGpuTimed(slot) && IsState(slot, OperationState::kStarted);
      if (moves) slot.started_at_ns -= static_cast<int64_t>(side.gpu_start_ns - gpu_ns);
      side.gpu_start_ns = gpu_ns;
    }
  }
  if (distrusted != kNoTicket) [[unlikely]]
    DistrustPrevious(header, distrusted);
}

// The host was so late that NCCL's ring of GPU times had turned: the end of that operation is of a later one.
void NcclRing::DistrustPrevious(RingHeader* header, uint64_t ticket) {
  OperationSlot& slot = SlotOf(header, ticket);
  OperationSide& side = sides_.Of(ticket);
  EventHold hold(header, slot, side, ticket, begin_lock_);
  if (!hold.held() || !IsState(slot, OperationState::kFinished) || !IsGpuTimed(slot)) return;
  PlaceWindow(slot, side, side.host_stop_ns);
  Add(header->nccl.timer_conflicts, 1, false);
}

void NcclRing::StopChannel(NcclContext* contexts, uint64_t ticket, uint32_t channel, uint64_t gpu_ns,
                           CycleClock& clock) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  OperationSlot& slot = SlotOf(header, ticket);
  OperationSide& side = sides_.Of(ticket);
  NcclContext* context = nullptr;
  uint32_t group = 0;
  int64_t finished_ns = 0;
  {
    EventHold hold(header, slot, side, ticket, begin_lock_);
    if (!hold.held()) [[unlikely]]
      return CountIgnored();
    const ChannelBits bits = sides_.BitsOf(ticket, channel);
    const bool has_bits = channel < OperationSides::kNarrowChannels || side.uses_wide_bits;
    if (!has_bits || !bits.has_started() || bits.has_stopped()) [[unlikely]]
      return CountIgnored();
    bits.Stop();
    ++slot.channels_finished;
    context = &contexts[side.context];
    if (gpu_ns == 0) [[unlikely]] {
      side.lacks_gpu_time = true;
    } else {
      if (gpu_ns > side.gpu_stop_ns) side.gpu_stop_ns = gpu_ns;
      if (channel < kHistoryChannels) [[likely]] {
        context->history[channel].ended_gpu_ns.store(gpu_ns, std::memory_order_relaxed);
        context->history[channel].ticket.store(ticket, std::memory_order_relaxed);
      }
    }
    if (slot.channels_finished < slot.channels_started) return;
    const bool counts = slot.channels != 0 && context->counts_all_channels.load(std::memory_order_relaxed);
    if (counts && slot.channels_finished < slot.channels) return;
    group = side.group;
    finished_ns = EndKernel(header, *context, slot, side, clock);
  }
  if (finished_ns == 0) return;
  CloseOvertaken(header, {*context, context->communicator.load(std::memory_order_relaxed), ticket, group, finished_ns});
}

// The last kernel of an operation has ended, as far as one knows. Returns when; 0 = it was taken to be over before.
int64_t NcclRing::EndKernel(RingHeader* header, NcclContext& context, OperationSlot& slot, OperationSide& side,
                            CycleClock& clock) {
  const int64_t now_ns = clock.NowNs();
  const bool is_late = IsState(slot, OperationState::kFinished);
  side.host_stop_ns = now_ns;
  if (side.host_start_ns > now_ns) side.host_start_ns = now_ns;
  if (!is_late) Finish(header, slot, now_ns);
  PlaceTimes(context, slot, side, now_ns);
  return is_late ? 0 : now_ns;
}

// What became of an operation that a later one has overtaken.
NcclRing::Overtaken NcclRing::CloseIfOvertaken(RingHeader* header, uint64_t ticket, const Overtaker& by) {
  OperationSlot& slot = SlotOf(header, ticket);
  // Most are of other communicators: whoever holds those needs them.
  if (Atomic(slot.ticket).load(std::memory_order_relaxed) != ticket ||
      Atomic(slot.communicator).load(std::memory_order_relaxed) != by.communicator) {
    return Overtaken::kNotOpen;
  }
  OperationSide& side = sides_.Of(ticket);
  EventHold hold(header, slot, side, ticket, begin_lock_);
  if (!hold.held()) return Overtaken::kTooYoung;
  if (slot.communicator != by.communicator || !IsInFlight(slot)) return Overtaken::kNotOpen;
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
  OperationSide& side = sides_.Of(ticket);
  EventHold hold(header, slot, side, ticket, begin_lock_);
  if (!hold.held() || !IsInFlight(slot)) return CountIgnored();
  side.host_has_ended = true;
  if (side.has_kernel || side.proxies_started != side.proxies_stopped) return;
  PlaceEnvelope(slot, side, now_ns);
  Finish(header, slot, now_ns);
}

void NcclRing::PlaceEnvelope(OperationSlot& slot, const OperationSide& side, int64_t now_ns) {
  const bool has_proxies = side.proxies_started > 0;
  SetQuality(slot, has_proxies ? TimingQuality::kProxyEnvelope : TimingQuality::kHostEnqueue);
  slot.started_at_ns = has_proxies ? side.host_start_ns : slot.enqueued_at_ns;
  slot.finished_at_ns = now_ns;
}

void NcclRing::StartProxy(uint64_t ticket, int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr) return;
  OperationSlot& slot = SlotOf(header, ticket);
  OperationSide& side = sides_.Of(ticket);
  EventHold hold(header, slot, side, ticket, begin_lock_);
  if (!hold.held()) return CountIgnored();
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
  OperationSide& side = sides_.Of(ticket);
  EventHold hold(header, slot, side, ticket, begin_lock_);
  if (!hold.held()) return CountIgnored();
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
