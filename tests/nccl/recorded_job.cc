#include "tests/nccl/recorded_job.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace lockstep::nccl {
namespace {

constexpr std::pair<const char*, ring::OperationKind> kKinds[] = {
    {"AllReduce", ring::OperationKind::kAllReduce}, {"AllGather", ring::OperationKind::kAllGather},
    {"Broadcast", ring::OperationKind::kBroadcast}, {"ReduceScatter", ring::OperationKind::kReduceScatter},
    {"Reduce", ring::OperationKind::kReduce},       {"Send", ring::OperationKind::kSend},
    {"Recv", ring::OperationKind::kRecv},
};

bool IsPointToPoint(ring::OperationKind kind) {
  return kind == ring::OperationKind::kSend || kind == ring::OperationKind::kRecv;
}

SequenceKey KeyOf(const RankKey& rank, ring::OperationKind kind, int32_t peer) {
  if (!IsPointToPoint(kind)) return {.rank = rank};
  return {.rank = rank, .peer = peer, .is_send = kind == ring::OperationKind::kSend};
}

}  // namespace

ring::OperationKind KindOf(const std::string& function) {
  for (const auto& [name, kind] : kKinds) {
    if (function == name) return kind;
  }
  return ring::OperationKind::kUnknown;
}

RecordedJob::RecordedJob(const std::string& ring_path) : bytes_(ring::ReadFile(ring_path)) {
  if (bytes_.size() < sizeof(ring::RingHeader)) return;
  view_ = std::make_unique<ring::RingView>(bytes_);
  for (uint32_t i = 0; i < header().communicator_count; ++i) {
    const ring::CommunicatorEntry& entry = view_->communicators[i];
    communicators_[{entry.id, entry.rank}] = &entry;
  }
  for (uint32_t i = 0; i < header().operation_capacity; ++i) {
    const ring::OperationSlot& slot = view_->slots[i];
    if (slot.state == 0 || slot.communicator >= header().communicator_count) continue;
    const ring::CommunicatorEntry& entry = view_->communicators[slot.communicator];
    const auto kind = static_cast<ring::OperationKind>(slot.kind);
    operations_[KeyOf({entry.id, entry.rank}, kind, slot.peer)].push_back(&slot);
  }
  for (auto& [key, slots] : operations_) {
    std::sort(slots.begin(), slots.end(),
              [](const ring::OperationSlot* a, const ring::OperationSlot* b) { return a->ticket < b->ticket; });
  }
}

std::vector<const ring::TransferWaits*> RecordedJob::transfers() const {
  std::vector<const ring::TransferWaits*> used;
  const uint64_t begin = ring::FileBytes(header().communicator_capacity, header().operation_capacity);
  for (uint32_t i = 0; i < header().transfer_capacity; ++i) {
    const auto* const row =
        reinterpret_cast<const ring::TransferWaits*>(bytes_.data() + begin + i * sizeof(ring::TransferWaits));
    if (row->ready != 0) used.push_back(row);
  }
  return used;
}

std::map<SequenceKey, std::vector<const TrueOperation*>> DeliveredOperations(const Truth& truth) {
  std::map<SequenceKey, std::vector<const TrueOperation*>> delivered;
  for (const TrueOperation& operation : truth.operations) {
    if (!operation.was_delivered) continue;
    const RankKey rank = {operation.communicator, operation.rank};
    delivered[KeyOf(rank, KindOf(operation.function), operation.peer)].push_back(&operation);
  }
  return delivered;
}

}  // namespace lockstep::nccl
