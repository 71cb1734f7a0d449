#include "agent/recorder/ring_writer.h"

#include <pthread.h>
#include <string.h>

#include "agent/recorder/ring_access.h"

namespace lockstep::ring {
namespace {

// Differs between a process and its forked children.
constinit std::atomic<uint32_t> g_generation{0};
constinit std::atomic<bool> g_watches_forks{false};

void EnterForkedChild() { g_generation.fetch_add(1, std::memory_order_relaxed); }

bool WatchForks() { return g_watches_forks.exchange(true) || pthread_atfork(nullptr, nullptr, EnterForkedChild) == 0; }

bool Holds(const OperationSlot& slot, const OperationHandle& handle) {
  return slot.ticket == handle.ticket && IsInFlight(slot);
}

void FillSlot(const OperationDescription& operation, uint64_t ticket, uint64_t sequence, int64_t now_ns,
              OperationSlot* slot) {
  slot->state = static_cast<uint8_t>(operation.started ? OperationState::kStarted : OperationState::kEnqueued);
  slot->kind = static_cast<uint8_t>(operation.kind);
  slot->timing_quality = static_cast<uint8_t>(operation.timing_quality);
  slot->flags = operation.flags;
  slot->ticket = ticket;
  slot->sequence = sequence;
  slot->bytes = operation.bytes;
  slot->enqueued_at_ns = now_ns;
  slot->started_at_ns = operation.started ? now_ns : 0;
  slot->finished_at_ns = 0;
  slot->communicator = operation.communicator;
  slot->peer = operation.peer;
  slot->datatype_bytes = operation.datatype_bytes;
  slot->channels = 0;
  slot->algorithm = 0;
  slot->protocol = 0;
  slot->waited_ns = kNotWaited;
  slot->thread_id = ThreadId();
}

// Puts the operation into its slot. False when the slot is taken by a newer operation (this thread slept while the ring
// went round) or held by a thread that sleeps.
bool Place(RingHeader* header, const OperationDescription& operation, uint64_t ticket, uint64_t sequence, bool alone,
           int64_t now_ns) {
  OperationSlot& slot = SlotOf(header, ticket);
  SlotLock lock(slot, alone);
  if (!lock.held()) return false;
  if (slot.state != static_cast<uint8_t>(OperationState::kEmpty) && slot.ticket > ticket) return false;
  if (IsInFlight(slot)) Add(header->counters.lost, 1, alone);
  FillSlot(operation, ticket, sequence, now_ns, &slot);
  return true;
}

uint32_t FindCommunicator(RingHeader* header, uint64_t id) {
  const uint32_t count = Atomic(header->communicator_count).load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    CommunicatorEntry& entry = Communicators(header)[i];
    if (Atomic(entry.ready).load(std::memory_order_acquire) == 1 && entry.id == id) return i;
  }
  return kNoCommunicator;
}

}  // namespace

bool RingWriter::Open(const RingOptions& options) {
  if (!WatchForks()) return false;
  RingHeader* header = CreateRingFile(options);
  if (header == nullptr) return false;
  alone_ = options.calls_come_one_at_a_time;
  generation_ = g_generation.load(std::memory_order_relaxed);
  Atomic(header->state).store(static_cast<uint32_t>(RecorderState::kActive), std::memory_order_release);
  header_.store(header, std::memory_order_release);
  return true;
}

RingHeader* RingWriter::header() const {
  RingHeader* header = header_.load(std::memory_order_acquire);
  return header != nullptr && generation_ == g_generation.load(std::memory_order_relaxed) ? header : nullptr;
}

RingHeader* RingWriter::End() {
  RingHeader* ended = header();
  header_.store(nullptr, std::memory_order_release);
  return ended;
}

uint32_t RingWriter::FindOrAddCommunicator(const CommunicatorDescription& description, int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr) return kNoCommunicator;
  const uint32_t found = FindCommunicator(header, description.id);
  if (found != kNoCommunicator) return found;
  const uint32_t index = ClaimCommunicator(header);
  if (index == kNoCommunicator) {
    Add(header->counters.communicators_dropped, 1, alone_);
    return kNoCommunicator;
  }
  CommunicatorEntry& entry = Communicators(header)[index];
  entry.size = description.size;
  entry.rank = description.rank;
  entry.node_count = description.node_count;
  entry.id = description.id;
  entry.created_at_ns = now_ns;
  CopyName(description.name, &entry);
  Touch(entry, now_ns);
  Atomic(entry.ready).store(1, std::memory_order_release);
  return index;
}

void RingWriter::NameCommunicator(uint32_t communicator, const char* name) {
  RingHeader* header = this->header();
  CommunicatorEntry* entry = header == nullptr ? nullptr : CommunicatorOrNull(header, communicator);
  if (entry == nullptr) return;
  // Readers skip the entry for the moment, so that they never see a torn name.
  auto ready = Atomic(entry->ready);
  const uint32_t before = ready.exchange(0, std::memory_order_acq_rel);
  CopyName(name, entry);
  ready.store(before, std::memory_order_release);
}

void RingWriter::FreeCommunicator(uint32_t communicator) {
  RingHeader* header = this->header();
  CommunicatorEntry* entry = header == nullptr ? nullptr : CommunicatorOrNull(header, communicator);
  if (entry != nullptr) Atomic(entry->ready).store(2, std::memory_order_release);
}

OperationHandle RingWriter::Begin(const OperationDescription& operation, int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr) return {};
  OperationHandle handle;
  handle.live = true;
  handle.communicator = operation.communicator;
  handle.sequence = operation.sequence;
  handle.collective = IsCollective(operation.kind);
  CommunicatorEntry* entry = CommunicatorOrNull(header, operation.communicator);
  if (handle.collective && entry != nullptr) {
    handle.sequence = Add(entry->enqueued, 1, alone_) + 1;
    if (operation.started) RaiseTo(entry->started, handle.sequence, alone_);
    Touch(*entry, now_ns);
  }
  Add(header->counters.enqueued, 1, alone_);
  const uint64_t ticket = Add(header->next_ticket, 1, alone_);
  if (Place(header, operation, ticket, handle.sequence, alone_, now_ns)) {
    handle.ticket = ticket;
  } else {
    Add(header->counters.lost, 1, alone_);
  }
  return handle;
}

void RingWriter::Start(const OperationHandle& handle, int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr || !handle.live) return;
  CommunicatorEntry* entry = CommunicatorOrNull(header, handle.communicator);
  if (handle.collective && entry != nullptr) {
    RaiseTo(entry->started, handle.sequence, alone_);
    Touch(*entry, now_ns);
  }
  if (handle.ticket == kNoTicket) return CountIgnored();
  OperationSlot& slot = SlotOf(header, handle.ticket);
  SlotLock lock(slot, alone_);
  if (!lock.held() || !Holds(slot, handle)) return CountIgnored();
  slot.state = static_cast<uint8_t>(OperationState::kStarted);
  slot.started_at_ns = now_ns;
}

void RingWriter::Finish(const OperationHandle& handle, const OperationResult& result, int64_t now_ns) {
  RingHeader* header = this->header();
  if (header == nullptr || !handle.live) return;
  CommunicatorEntry* entry = CommunicatorOrNull(header, handle.communicator);
  if (handle.collective && entry != nullptr) {
    RaiseTo(entry->started, handle.sequence, alone_);
    Add(entry->finished, 1, alone_);
    Touch(*entry, now_ns);
  }
  // Its loss was counted by whoever took the slot.
  if (handle.ticket == kNoTicket) return CountIgnored();
  OperationSlot& slot = SlotOf(header, handle.ticket);
  SlotLock lock(slot, alone_);
  if (!lock.held() || !Holds(slot, handle)) return CountIgnored();
  slot.state = static_cast<uint8_t>(OperationState::kFinished);
  if (slot.started_at_ns == 0) slot.started_at_ns = now_ns;
  slot.finished_at_ns = now_ns;
  slot.waited_ns = result.waited_ns;
  if (slot.peer == kAnyPeer) slot.peer = result.peer;
  if (result.timing_quality != TimingQuality::kUnknown) {
    slot.timing_quality = static_cast<uint8_t>(result.timing_quality);
  }
  Add(header->counters.finished, 1, alone_);
}

void RingWriter::CountIgnored(uint64_t events) {
  RingHeader* header = this->header();
  if (header != nullptr) Add(header->counters.events_ignored, events, alone_);
}

bool RingWriter::IsMaskedOut(uint64_t bit) {
  RingHeader* header = this->header();
  if (header == nullptr) return true;
  const uint64_t mask = Atomic(header->control.event_mask).load(std::memory_order_relaxed);
  const bool in_force =
      mask != 0 && static_cast<uint64_t>(MonotonicNs()) < Atomic(header->control.expires_at_ns).load();
  const uint64_t active = in_force ? mask : 0;
  auto published = Atomic(header->active_mask);
  if (published.load(std::memory_order_relaxed) != active) published.store(active, std::memory_order_relaxed);
  return in_force && (mask & bit) == 0;
}

void RingWriter::Finalize() {
  RingHeader* header = End();
  if (header != nullptr) {
    Atomic(header->state).store(static_cast<uint32_t>(RecorderState::kFinalized), std::memory_order_release);
  }
}

void RingWriter::Disable(DisabledReason reason) {
  RingHeader* header = End();
  if (header == nullptr) return;
  Atomic(header->disabled_reason).store(static_cast<uint32_t>(reason), std::memory_order_relaxed);
  Atomic(header->state).store(static_cast<uint32_t>(RecorderState::kDisabled), std::memory_order_release);
}

}  // namespace lockstep::ring
