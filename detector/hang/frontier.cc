#include "detector/hang/frontier.h"

namespace lockstep {

bool IsPointToPoint(OperationKind kind) { return kind == OperationKind::kSend || kind == OperationKind::kRecv; }

Frontier::Progress Frontier::Sends(int32_t communicator, int32_t source, int32_t destination) const {
  const auto found = content_.pairs.find({communicator, source, destination});
  return found == content_.pairs.end() ? Progress{} : found->second.send;
}

Frontier::Progress Frontier::Receives(int32_t communicator, int32_t source, int32_t destination) const {
  const auto found = content_.pairs.find({communicator, source, destination});
  return found == content_.pairs.end() ? Progress{} : found->second.receive;
}

bool Frontier::IsStuckIn(size_t rank_index, const TraceOperation& operation) const {
  if (watch() == nullptr) return true;
  return trace_->ranks[rank_index].last_seen_ns - operation.enqueue_ns >=
         watch()->patience_of_ns[static_cast<size_t>(operation.communicator)];
}

bool Frontier::ProvesAbsence(size_t rank_index, int64_t since_ns) const {
  if (watch() == nullptr) return true;
  return trace_->ranks[rank_index].last_seen_ns - since_ns >= watch()->freshness_ns;
}

}  // namespace lockstep
