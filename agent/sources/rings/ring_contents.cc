#include "agent/sources/rings/ring_contents.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "agent/sources/rings/operation_columns.h"

namespace lockstep {
namespace {

constexpr int32_t kMaxMembers = 1'000'000;
constexpr uint64_t kMaxSequence = uint64_t{1} << 62;

bool IsPlausible(const ring::CommunicatorEntry& entry) {
  const int32_t places = entry.size > 0 ? entry.size : kMaxMembers;  // NCCL before 2.27 does not tell the size
  return entry.size >= 0 && entry.size <= kMaxMembers && entry.rank >= -1 && entry.rank < places &&
         entry.enqueued <= kMaxSequence && entry.started <= kMaxSequence && entry.finished <= kMaxSequence;
}

bool Stands(const std::vector<ring::OperationSlot>& in_flight, const ReadingTime& time) {
  int64_t oldest_start_ns = 0;
  int64_t oldest_call_ns = 0;
  bool any_started = false;
  for (const ring::OperationSlot& operation : in_flight) {
    oldest_call_ns = std::max(oldest_call_ns, time.Since(operation.enqueued_at_ns));
    if (!HasStarted(operation)) continue;
    any_started = true;
    oldest_start_ns = std::max(oldest_start_ns, time.Since(operation.started_at_ns));
  }
  return (any_started ? oldest_start_ns : oldest_call_ns) >= kStandsNanos;
}

}  // namespace

bool HasStarted(const ring::OperationSlot& operation) {
  return operation.state == static_cast<uint8_t>(ring::OperationState::kStarted);
}

RingContents SortRing(const RingSnapshot& snapshot, const ReadingTime& time, RingTally* tally) {
  RingContents contents;
  std::unordered_map<uint32_t, size_t> position;  // of a table index in contents.communicators
  for (const RingCommunicator& communicator : snapshot.communicators) {
    if (!IsPlausible(communicator.entry)) {
      ++tally->communicators_left_out;
      continue;
    }
    position.emplace(communicator.index, contents.communicators.size());
    contents.communicators.push_back({&communicator.entry, {}, {}, {}, snapshot.stride});
  }
  tally->overwritten += snapshot.overwritten;
  tally->malformed += snapshot.malformed;
  tally->over_budget += snapshot.thinned;
  tally->over_allowance += snapshot.skipped;
  tally->communicators_left_out += snapshot.communicators_left_out;
  tally->transfers_left_out += snapshot.transfers_left_out;
  for (const ring::OperationSlot& operation : snapshot.finished) {
    const auto at = position.find(operation.communicator);
    if (at == position.end()) {
      ++tally->unknown_communicator;
    } else if (!IsPlausibleOperation(operation, time.over_ns)) {
      ++tally->malformed;
    } else {
      contents.communicators[at->second].finished.push_back(&operation);
    }
  }
  for (const ring::OperationSlot& operation : snapshot.in_flight) {
    const auto at = position.find(operation.communicator);
    if (at == position.end() || operation.sequence > kMaxSequence) continue;
    contents.communicators[at->second].in_flight.push_back(&operation);
  }
  contents.stands = Stands(snapshot.in_flight, time);
  for (const ring::TransferWaits& transfer : snapshot.transfers) {
    const auto at = position.find(transfer.communicator);
    if (at == position.end()) continue;
    CommunicatorContents& communicator = contents.communicators[at->second];
    const int32_t peers = communicator.entry->size > 0 ? communicator.entry->size : kMaxMembers;
    if (transfer.peer >= 0 && transfer.peer < peers) communicator.transfers.push_back(&transfer);
  }
  return contents;
}

}  // namespace lockstep
