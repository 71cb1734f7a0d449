#include "detector/hang/wait_graph.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "detector/hang/call_mismatch.h"

namespace lockstep {
namespace {

using BlockedKey = std::tuple<int32_t, int32_t, int32_t, uint64_t>;  // communicator, source, destination, sequence
using StreamKey = std::tuple<int32_t, int32_t, int32_t>;             // without the sequence

// Bound of the walk.
constexpr int64_t kMaxLostInARow = 8;

class Builder {
 public:
  explicit Builder(const Frontier& frontier) : frontier_(frontier), trace_(frontier.trace()) {}

  WaitGraph Run() {
    const size_t ranks = trace_.ranks.size();
    graph_.not_begun.assign(ranks, 0);
    graph_.left_behind.assign(ranks, 0);
    graph_.place_lost.assign(ranks, 0);
    first_open_.assign(ranks, nullptr);
    std::vector<std::vector<int32_t>> of_rank(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      of_rank[rank] = Stand(rank);
      if (of_rank[rank].empty() && frontier_.IsMoving(rank)) graph_.place_lost[rank] = 1;
    }
    for (size_t rank = 0; rank < ranks; ++rank) {
      if (graph_.not_begun[rank] == 0) continue;
      FillGaps(rank, &of_rank[rank]);
      if (graph_.not_begun[rank] == 0) without_place_.push_back(static_cast<int32_t>(rank));
    }
    graph_.edges.assign(ranks + graph_.blocked_operations.size(), {});
    graph_.member_states.assign(graph_.blocked_operations.size(), {});
    for (size_t s = 0; s < graph_.blocked_operations.size(); ++s) Judge(s);
    for (size_t rank = 0; rank < ranks; ++rank) Lead(rank, std::move(of_rank[rank]));
    FindMismatches(trace_, frontier_, &graph_.blocked_operations);
    return std::move(graph_);
  }

 private:
  const TraceOperation& Operation(size_t index) const { return trace_.operations[index]; }

  StreamKey StreamOf(size_t rank, const TraceOperation& operation) const {
    const int32_t member = frontier_.MemberOf(rank, operation.communicator);
    if (operation.kind == OperationKind::kSend) return {operation.communicator, member, operation.peer};
    if (operation.kind == OperationKind::kRecv) return {operation.communicator, operation.peer, member};
    return {operation.communicator, -1, -1};
  }

  // The blocked operations at which a rank waits: the first open operation of each stream, begun where that can be
  // told.
  std::vector<int32_t> Stand(size_t rank) {
    const absl::Span<const size_t> open = frontier_.OpenOf(rank);
    if (open.empty()) return {};
    const auto began = [this](size_t index) { return Operation(index).started(); };
    const bool tells = frontier_.TellsBegun(rank);
    first_open_[rank] = &Operation(open.front());
    graph_.not_begun[rank] = tells && std::none_of(open.begin(), open.end(), began) ? 1 : 0;
    if (graph_.not_begun[rank] != 0) return {};
    std::vector<int32_t> blocked_operations;
    std::vector<std::pair<StreamKey, uint64_t>> first;  // lowest open sequence of each stream
    std::vector<size_t> first_index;
    for (const size_t index : open) {
      if (tells && !began(index)) continue;
      const StreamKey stream = StreamOf(rank, Operation(index));
      const auto same = std::find_if(first.begin(), first.end(), [&](const auto& f) { return f.first == stream; });
      if (same == first.end()) {
        first.push_back({stream, Operation(index).sequence});
        first_index.push_back(index);
      } else if (Operation(index).sequence < same->second) {
        same->second = Operation(index).sequence;
        first_index[static_cast<size_t>(same - first.begin())] = index;
      }
    }
    for (size_t i = 0; i < first.size(); ++i) {
      const int32_t blocked = BlockedOf(first[i].first, first_index[i], static_cast<int32_t>(rank));
      if (frontier_.IsStuckIn(rank, Operation(first_index[i]))) blocked_operations.push_back(blocked);
    }
    return blocked_operations;
  }

  // A rank that has begun nothing of what it called may stand in an operation whose record was lost: one that is
  // missing between the last finished and the first open of a stream, and that others have not left. Its GPU is not
  // accused.
  void FillGaps(size_t rank, std::vector<int32_t>* blocked_operations) {
    for (const size_t index : frontier_.OpenOf(rank)) {
      const StreamKey stream = StreamOf(rank, Operation(index));
      const auto [communicator, source, destination] = stream;
      const int64_t done = LastDone(rank, Operation(index), stream);
      const auto open = static_cast<int64_t>(Operation(index).sequence);
      const bool earlier_is_open = HoldsSequence(rank, stream, open - 1);
      if (earlier_is_open || open - done < 2) continue;
      graph_.not_begun[rank] = 0;
      for (int64_t lost = std::max(done + 1, open - kMaxLostInARow); lost < open; ++lost) {
        const auto found = numbers_.find({communicator, source, destination, static_cast<uint64_t>(lost)});
        if (found != numbers_.end()) blocked_operations->push_back(found->second);
      }
      graph_.place_lost[rank] = blocked_operations->empty() ? 1 : 0;
    }
  }

  // The last operation of the stream that the rank has left, as its own or others' records prove.
  int64_t LastDone(size_t rank, const TraceOperation& operation, const StreamKey& stream) const {
    const auto [communicator, source, destination] = stream;
    if (IsPointToPoint(operation.kind)) {
      return std::max(frontier_.Sends(communicator, source, destination).finished,
                      frontier_.Receives(communicator, source, destination).finished);
    }
    const int32_t member = frontier_.MemberOf(rank, communicator);
    return std::max(frontier_.Of(communicator, member).finished, frontier_.EnteredByAll(communicator));
  }

  bool HoldsSequence(size_t rank, const StreamKey& stream, int64_t sequence) const {
    const absl::Span<const size_t> open = frontier_.OpenOf(rank);
    return std::any_of(open.begin(), open.end(), [&](size_t index) {
      return static_cast<int64_t>(Operation(index).sequence) == sequence && StreamOf(rank, Operation(index)) == stream;
    });
  }

  int32_t BlockedOf(const StreamKey& stream, size_t index, int32_t rank) {
    const auto [communicator, source, destination] = stream;
    const TraceOperation& operation = Operation(index);
    const auto next = static_cast<int32_t>(graph_.blocked_operations.size());
    const auto [found, fresh] =
        numbers_.try_emplace(BlockedKey{communicator, source, destination, operation.sequence}, next);
    if (fresh) {
      graph_.blocked_operations.push_back({.communicator = communicator,
                                           .source = source,
                                           .destination = destination,
                                           .sequence = operation.sequence,
                                           .kind = operation.kind});
    }
    BlockedOperation& blocked = graph_.blocked_operations[static_cast<size_t>(found->second)];
    blocked.at.push_back(rank);
    blocked.operations.push_back(index);
    blocked.passing = fresh || blocked.passing;
    if (frontier_.IsStuckIn(static_cast<size_t>(rank), operation)) {
      const bool first = blocked.passing || operation.enqueue_ns < blocked.since_ns;
      if (first) blocked.since_ns = operation.enqueue_ns;
      blocked.passing = false;
    }
    return found->second;
  }

  bool Dead(int32_t rank) const { return std::binary_search(frontier_.died().begin(), frontier_.died().end(), rank); }

  // Whether the member has come to the operation itself, and not only called it behind an earlier one.
  bool StandsHere(const BlockedOperation& blocked, int32_t rank) const {
    const auto here = std::lower_bound(blocked.at.begin(), blocked.at.end(), rank);
    if (here == blocked.at.end() || *here != rank) return MayStandHere(blocked, static_cast<size_t>(rank));
    if (frontier_.TellsBegun(static_cast<size_t>(rank))) return true;
    const size_t index = blocked.operations[static_cast<size_t>(here - blocked.at.begin())];
    if (frontier_.watch() != nullptr && Operation(index).started()) return true;
    return &Operation(index) == first_open_[static_cast<size_t>(rank)];
  }

  // The record of this call was lost and the rank has begun nothing else.
  bool MayStandHere(const BlockedOperation& blocked, size_t rank) const {
    const StreamKey stream{blocked.communicator, blocked.source, blocked.destination};
    const bool lost = !HoldsSequence(rank, stream, static_cast<int64_t>(blocked.sequence));
    return lost && std::binary_search(without_place_.begin(), without_place_.end(), static_cast<int32_t>(rank));
  }

  void Judge(size_t s) {
    BlockedOperation& blocked = graph_.blocked_operations[s];
    if (blocked.passing) return;
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(blocked.communicator)].members;
    if (blocked.collective()) {
      const auto sequence = static_cast<int64_t>(blocked.sequence);
      blocked.finished_by_some = frontier_.EnteredByAll(blocked.communicator) >= sequence;
      if (blocked.finished_by_some) return;
      for (size_t m = 0; m < members.size(); ++m) {
        const auto member = static_cast<int32_t>(m);
        JudgeMember(s, member, frontier_.Of(blocked.communicator, member));
      }
      return;
    }
    const auto known = [&](int32_t m) { return m >= 0 && static_cast<size_t>(m) < members.size(); };
    blocked.unjudged = !known(blocked.source) || !known(blocked.destination);
    if (blocked.unjudged) return;
    const auto sends = frontier_.Sends(blocked.communicator, blocked.source, blocked.destination);
    const auto receives = frontier_.Receives(blocked.communicator, blocked.source, blocked.destination);
    const auto sequence = static_cast<int64_t>(blocked.sequence);
    blocked.finished_by_some = sends.finished >= sequence || receives.finished >= sequence;
    if (blocked.finished_by_some) return;
    JudgeMember(s, blocked.source, sends);
    JudgeMember(s, blocked.destination, receives);
  }

  void JudgeMember(size_t s, int32_t member, const Frontier::Progress& progress) {
    BlockedOperation& blocked = graph_.blocked_operations[s];
    const int32_t rank =
        trace_.communicators[static_cast<size_t>(blocked.communicator)].members[static_cast<size_t>(member)];
    const auto sequence = static_cast<int64_t>(blocked.sequence);
    if (progress.finished >= sequence) return;
    const bool entered = progress.entered >= sequence;
    if (rank >= 0 && (Dead(rank) || frontier_.Unseen(static_cast<size_t>(rank)))) {
      AddEdge(s, rank, MemberState::kNotCalled);
      return;
    }
    if (rank < 0 || !frontier_.IsKnown(static_cast<size_t>(rank))) {
      if (entered) return;
      // Who reports nothing to a watch may be without a recorder.
      if (frontier_.watch() == nullptr) blocked.unrecorded.push_back(member);
      blocked.unjudged = blocked.unjudged || frontier_.watch() != nullptr;
      return;
    }
    const auto index = static_cast<size_t>(rank);
    if (frontier_.IsExcused(index) || (!entered && !frontier_.ProvesAbsence(index, blocked.since_ns))) {
      blocked.unjudged = true;
      return;
    }
    const bool lost = graph_.place_lost[index] != 0 && !frontier_.IsMoving(index);
    if (entered && (StandsHere(blocked, rank) || lost)) return;
    AddEdge(s, rank,
            !entered && !HidesCalls(blocked, index)  ? MemberState::kNotCalled
            : entered && frontier_.TellsBegun(index) ? MemberState::kNotBegun
                                                     : MemberState::kQueued);
  }

  void AddEdge(size_t s, int32_t rank, MemberState state) {
    graph_.edges[trace_.ranks.size() + s].push_back(rank);
    graph_.member_states[s].push_back(state);
  }

  // Where a rank tells only of the oldest operation in flight of each communicator, and of what it counts, collectives,
  // a transfer called behind it does not show.
  bool HidesCalls(const BlockedOperation& blocked, size_t rank) const {
    if (blocked.collective() || !frontier_.HidesCalls(rank)) return false;
    const absl::Span<const size_t> open = frontier_.OpenOf(rank);
    return std::any_of(open.begin(), open.end(),
                       [&](size_t index) { return Operation(index).communicator == blocked.communicator; });
  }

  void Lead(size_t rank, std::vector<int32_t> blocked_operations) {
    for (const int32_t s : blocked_operations) {
      const BlockedOperation& blocked = graph_.blocked_operations[static_cast<size_t>(s)];
      if (blocked.finished_by_some && blocked.collective()) graph_.left_behind[rank] = 1;
    }
    if (graph_.left_behind[rank] != 0 || Dead(static_cast<int32_t>(rank))) return;
    for (const int32_t s : blocked_operations) {
      graph_.edges[rank].push_back(static_cast<int32_t>(trace_.ranks.size()) + s);
    }
  }

  const Frontier& frontier_;
  const Trace& trace_;
  WaitGraph graph_;
  std::vector<int32_t> without_place_;             // rank indices whose begun operation left no record, rising
  std::vector<const TraceOperation*> first_open_;  // of each rank; nullptr = none
  absl::flat_hash_map<BlockedKey, int32_t> numbers_;
};

}  // namespace

WaitGraph BuildWaitGraph(const Frontier& frontier) { return Builder(frontier).Run(); }

std::vector<char> ReachedFrom(std::vector<int32_t> nodes, const std::vector<std::vector<int32_t>>& edges) {
  std::vector<char> reached(edges.size(), 0);
  while (!nodes.empty()) {
    const auto node = static_cast<size_t>(nodes.back());
    nodes.pop_back();
    if (std::exchange(reached[node], 1) != 0) continue;
    nodes.insert(nodes.end(), edges[node].begin(), edges[node].end());
  }
  return reached;
}

}  // namespace lockstep
