#include "detector/hang/without_ends.h"

#include <algorithm>

#include "absl/types/span.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

// Of one communicator: gathers and reductions of a sharded job.
constexpr size_t kMostAtOnce = 2;
// CUDA queues 1,024 launches of a stream, several of them for the work between two calls of a communicator.
constexpr size_t kMostAhead = 128;

// Where the begin is that of the call, nothing is known but the call.
bool TellsBegin(const TraceOperation& operation) {
  return operation.started() && operation.quality != TimingQuality::kHostEnqueue;
}

}  // namespace

void WithoutEnds::Begun::Note(const TraceOperation& operation, bool tells_begins) {
  ++calls;
  begins += TellsBegin(operation) ? 1 : 0;
  if (TellsBegin(operation) || !tells_begins) last = std::max(last, static_cast<int64_t>(operation.sequence));
}

bool WithoutEnds::Begun::MoreThanInFlight() const { return begins > kMostAtOnce || calls > kMostAhead; }

WithoutEnds::WithoutEnds(const Trace& trace, const MemberTable& members) {
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const absl::Span<const TraceOperation> operations = trace.OperationsOf(rank);
    const auto ended = [](const TraceOperation& operation) { return operation.finished(); };
    ends_nothing_.push_back(std::none_of(operations.begin(), operations.end(), ended) ? 1 : 0);
  }
  if (std::find(ends_nothing_.begin(), ends_nothing_.end(), 1) == ends_nothing_.end()) return;
  tells_none_.assign(trace.ranks.size(), 0);
  of_member_.assign(members.size(), Begun{});
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) Read(trace, members, rank);
  FindEndedByAll(trace, members);
}

void WithoutEnds::Read(const Trace& trace, const MemberTable& members, size_t rank_index) {
  const absl::Span<const TraceOperation> operations = trace.OperationsOf(rank_index);
  const bool tells_begins = std::any_of(operations.begin(), operations.end(), TellsBegin);
  for (const TraceOperation& operation : operations) {
    const int32_t member = members.MemberOf(rank_index, operation.communicator);
    if (member < 0) continue;
    Begun* begun = &of_member_[members.IndexOf(operation.communicator, member)];
    if (IsPointToPoint(operation.kind)) {
      auto& [sent, received] = of_pair_[PairOf(operation, member)];
      begun = operation.kind == OperationKind::kSend ? &sent : &received;
    }
    begun->Note(operation, tells_begins);
    if (EndsNothing(rank_index) && begun->MoreThanInFlight()) tells_none_[rank_index] = 1;
  }
}

void WithoutEnds::FindEndedByAll(const Trace& trace, const MemberTable& members) {
  for (size_t c = 0; c < trace.communicators.size(); ++c) {
    const std::vector<int32_t>& ranks = trace.communicators[c].members;
    int64_t ended = -1;
    bool any = false;
    for (size_t member = 0; member < ranks.size(); ++member) {
      if (ranks[member] < 0 || trace.OperationsOf(static_cast<size_t>(ranks[member])).empty()) continue;
      const int64_t last = of_member_[members.IndexOf(static_cast<int32_t>(c), static_cast<int32_t>(member))].last;
      ended = any ? std::min(ended, last) : last;
      any = true;
    }
    ended_by_all_.push_back(ended);
  }
}

int64_t WithoutEnds::EndedByBoth(const Frontier::PairKey& pair) const {
  const auto found = of_pair_.find(pair);
  if (found == of_pair_.end()) return -1;
  const auto& [sent, received] = found->second;
  if (sent.calls == 0 || received.calls == 0) return std::max(sent.last, received.last);
  return std::min(sent.last, received.last);
}

}  // namespace lockstep
