#include "agent/recorder/nccl_transfers.h"

#include "agent/recorder/nccl_abi.h"
#include "agent/recorder/ring_access.h"

namespace lockstep::ring {
namespace {

constexpr uint64_t kGenerationMask = (uint64_t{1} << 48) - 1;  // that fit into a handle

struct StateRow {
  int32_t state;
  uint32_t waits_for;  // index in TransferWaits::waits_ns
};
constexpr StateRow kStates[] = {
    {nccl_abi::kStepSendGpuWait, 0}, {nccl_abi::kStepSendPeerWait, 1},  {nccl_abi::kStepSendWait, 2},
    {nccl_abi::kStepRecvWait, 0},    {nccl_abi::kStepRecvFlushWait, 1}, {nccl_abi::kStepRecvGpuWait, 2},
};

TransferWaits& RowAt(RingHeader* header, uint32_t row) {
  auto* operations = reinterpret_cast<OperationSlot*>(Communicators(header) + header->communicator_capacity);
  return reinterpret_cast<TransferWaits*>(operations + header->operation_capacity)[row];
}

uint64_t KeyOf(uint32_t communicator, int32_t peer, bool is_send) {
  return uint64_t{communicator} << 34 | uint64_t{static_cast<uint32_t>(peer)} << 2 | (is_send ? 2u : 0u) | 1;
}

}  // namespace

uint32_t NcclTransfers::FindOrAdd(RingHeader* header, uint32_t communicator, int32_t peer, bool is_send) {
  if (communicator == kNoCommunicator) return kNoTransfer;
  const uint64_t key = KeyOf(communicator, peer, is_send);
  const uint64_t home = (key * 0x9E3779B97F4A7C15) >> 32;
  for (uint32_t i = 0; i < kRowWindow && header->transfer_capacity == kMaxRows; ++i) {
    const auto at = static_cast<uint32_t>((home + i) % kMaxRows);
    uint64_t seen = keys_[at].load(std::memory_order_relaxed);
    if (seen == key) return at;
    if (seen != 0) continue;
    if (keys_[at].compare_exchange_strong(seen, key, std::memory_order_relaxed)) {
      TransferWaits& row = RowAt(header, at);
      row.communicator = communicator;
      row.peer = peer;
      row.is_send = is_send ? 1 : 0;
      Atomic(row.ready).store(1, std::memory_order_release);
      return at;
    }
    if (seen == key) return at;
  }
  Add(header->nccl.transfers_dropped, 1, false);
  return kNoTransfer;
}

Handle NcclTransfers::StartStep(RingHeader* header, uint32_t row, int64_t now_ns) {
  const uint32_t home = next_step_.fetch_add(1, std::memory_order_relaxed);
  steps_started_.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kStepWindow; ++i) {
    const uint32_t at = (home + i) % kMaxSteps;
    Step& step = steps_[at];
    uint64_t generation = step.generation.load(std::memory_order_relaxed);
    const bool in_use = (generation & 1) != 0;
    if (in_use && now_ns - step.since_ns.load(std::memory_order_relaxed) < kAbandonedNanos) continue;
    const uint64_t mine = generation + (in_use ? 2 : 1);
    if (!step.generation.compare_exchange_strong(generation, mine, std::memory_order_acq_rel)) continue;
    step.since_ns.store(now_ns, std::memory_order_relaxed);
    step.row.store(row, std::memory_order_relaxed);
    step.waits_for.store(0, std::memory_order_relaxed);
    step.bytes.store(0, std::memory_order_relaxed);
    return {HandleType::kStep, at, mine & kGenerationMask};
  }
  Add(header->nccl.transfers_dropped, 1, false);
  return {};
}

NcclTransfers::Step* NcclTransfers::Find(Handle handle) {
  Step& step = steps_[handle.detail() % kMaxSteps];
  const uint64_t generation = step.generation.load(std::memory_order_acquire);
  return (generation & 1) != 0 && (generation & kGenerationMask) == handle.number() ? &step : nullptr;
}

void NcclTransfers::ChangeStep(RingHeader* header, Handle handle, int32_t state, uint64_t bytes, int64_t now_ns) {
  Step* const step = Find(handle);
  if (step == nullptr) return;
  for (const StateRow& row : kStates) {
    if (row.state != state) continue;
    const int64_t passed_ns = now_ns - step->since_ns.load(std::memory_order_relaxed);
    TransferWaits& waits = RowAt(header, step->row.load(std::memory_order_relaxed));
    const uint32_t waited_for = step->waits_for.load(std::memory_order_relaxed);
    if (passed_ns > 0) Add(waits.waits_ns[waited_for], static_cast<uint64_t>(passed_ns), false);
    step->since_ns.store(now_ns, std::memory_order_relaxed);
    step->waits_for.store(row.waits_for, std::memory_order_relaxed);
    if (bytes != 0) step->bytes.store(bytes, std::memory_order_relaxed);
    return;
  }
}

void NcclTransfers::StopStep(RingHeader* header, Handle handle, int64_t now_ns) {
  Step* const step = Find(handle);
  if (step == nullptr) return;
  TransferWaits& waits = RowAt(header, step->row.load(std::memory_order_relaxed));
  const int64_t passed_ns = now_ns - step->since_ns.load(std::memory_order_relaxed);
  const uint32_t waited_for = step->waits_for.load(std::memory_order_relaxed);
  if (passed_ns > 0) Add(waits.waits_ns[waited_for], static_cast<uint64_t>(passed_ns), false);
  Add(waits.steps, 1, false);
  Add(waits.bytes, step->bytes.load(std::memory_order_relaxed), false);
  Atomic(waits.changed_at_ns).store(now_ns, std::memory_order_release);
  step->generation.fetch_add(1, std::memory_order_release);
}

}  // namespace lockstep::ring
