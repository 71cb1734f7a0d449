#include "detector/hang/wait_graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/types/span.h"
#include "detector/hang/blocked_places.h"
#include "detector/hang/call_mismatch.h"

namespace lockstep {
namespace {

// Who keeps each blocked operation from ending, and where ranks lead.
class Builder {
 public:
  explicit Builder(const Frontier& frontier) : frontier_(frontier), trace_(frontier.trace()), places_(frontier) {}

  WaitGraph Run() {
    const size_t ranks = trace_.ranks.size();
    graph_.blocked_operations = places_.operations();
    graph_.not_begun = places_.not_begun();
    graph_.place_lost = places_.place_lost();
    graph_.left_behind.assign(ranks, 0);
    graph_.edges.assign(ranks + graph_.blocked_operations.size(), {});
    graph_.member_states.assign(graph_.blocked_operations.size(), {});
    for (size_t s = 0; s < graph_.blocked_operations.size(); ++s) Judge(s);
    for (size_t rank = 0; rank < ranks; ++rank) Lead(rank, places_.of_rank()[rank]);
    FindMismatches(trace_, frontier_, &graph_.blocked_operations);
    return std::move(graph_);
  }

 private:
  const TraceOperation& Operation(size_t index) const { return trace_.operations[index]; }

  bool Dead(int32_t rank) const { return std::binary_search(frontier_.died().begin(), frontier_.died().end(), rank); }

  void Judge(size_t s) {
    BlockedOperation& blocked = graph_.blocked_operations[s];
    if (blocked.passing) return;
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(blocked.communicator)].members;
    if (blocked.collective()) {
      const auto sequence = static_cast<int64_t>(blocked.sequence);
      blocked.finished_by_some =
          frontier_.EnteredByAll(blocked.communicator) >= sequence && !SomebodyStoppedBefore(blocked);
      if (blocked.finished_by_some) return;
      for (size_t m = 0; m < members.size(); ++m) {
        const auto member = static_cast<int32_t>(m);
        JudgeMember(s, member, frontier_.Of(blocked.communicator, member));
      }
      return;
    }
    const auto known = [&](int32_t m) { return m >= 0 && static_cast<size_t>(m) < members.size(); };
    // Places that are only counted, because some members left no record, may make a peer of the rank itself.
    const bool itself = blocked.source == blocked.destination;
    blocked.unjudged = itself || !known(blocked.source) || !known(blocked.destination);
    if (blocked.unjudged) return;
    const auto sends = frontier_.Sends(blocked.communicator, blocked.source, blocked.destination);
    const auto receives = frontier_.Receives(blocked.communicator, blocked.source, blocked.destination);
    const auto sequence = static_cast<int64_t>(blocked.sequence);
    blocked.finished_by_some = sends.finished >= sequence || receives.finished >= sequence;
    if (blocked.finished_by_some) return;
    JudgeMember(s, blocked.source, sends);
    JudgeMember(s, blocked.destination, receives);
  }

  // A member whose records end right before it, though it was looked at: it died, or stopped, inside of what some got
  // out of all the same. One that has lost a record alone has later ones.
  bool SomebodyStoppedBefore(const BlockedOperation& blocked) const {
    if (frontier_.watch() != nullptr) return false;
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(blocked.communicator)].members;
    const auto sequence = static_cast<int64_t>(blocked.sequence);
    for (size_t m = 0; m < members.size(); ++m) {
      const Frontier::Progress& progress = frontier_.Of(blocked.communicator, static_cast<int32_t>(m));
      if (members[m] < 0 || progress.records == 0 || progress.entered >= sequence) continue;
      const auto rank = static_cast<size_t>(members[m]);
      if (!frontier_.Unseen(rank) && !frontier_.CutShort(rank)) return true;
    }
    return false;
  }

  void JudgeMember(size_t s, int32_t member, const Frontier::Progress& progress) {
    BlockedOperation& blocked = graph_.blocked_operations[s];
    const int32_t rank = places_.blind().RankAt(blocked.communicator, member);
    const auto sequence = static_cast<int64_t>(blocked.sequence);
    if (progress.finished >= sequence) return;
    const bool entered = progress.entered >= sequence;
    if (rank >= 0 && (Dead(rank) || frontier_.Unseen(static_cast<size_t>(rank)))) {
      AddEdge(s, rank, MemberState::kNotCalled);
      return;
    }
    const bool known = rank >= 0 && frontier_.IsKnown(static_cast<size_t>(rank));
    if (known && frontier_.CutShort(static_cast<size_t>(rank))) return;
    if (places_.blind().IsBlind(blocked, member)) {
      JudgeBlind(s, member, rank);
      return;
    }
    if (!known) {
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
    if (entered && (places_.StandsHere(blocked, rank) || lost)) return;
    AddEdge(s, rank,
            !entered && !HidesCalls(blocked, index)  ? MemberState::kNotCalled
            : entered && frontier_.TellsBegun(index) ? MemberState::kNotBegun
                                                     : MemberState::kQueued);
  }

  // That it has not entered is not known. What it is known to stand in elsewhere may keep it from here.
  void JudgeBlind(size_t s, int32_t member, int32_t rank) {
    const std::vector<int32_t> nowhere;
    const std::vector<int32_t>& stands = rank < 0 ? nowhere : places_.of_rank()[static_cast<size_t>(rank)];
    const bool here = std::find(stands.begin(), stands.end(), static_cast<int32_t>(s)) != stands.end();
    if (stands.empty() || here) {
      graph_.blocked_operations[s].blind.push_back(member);
    } else {
      AddEdge(s, rank, MemberState::kQueued);
    }
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

  void Lead(size_t rank, const std::vector<int32_t>& blocked_operations) {
    for (const int32_t s : blocked_operations) {
      const BlockedOperation& blocked = graph_.blocked_operations[static_cast<size_t>(s)];
      if (blocked.finished_by_some && blocked.collective()) graph_.left_behind[rank] = 1;
    }
    if (graph_.left_behind[rank] != 0 || Dead(static_cast<int32_t>(rank)) || places_.held_by_itself()[rank] != 0)
      return;
    for (const int32_t s : blocked_operations) {
      graph_.edges[rank].push_back(static_cast<int32_t>(trace_.ranks.size()) + s);
    }
  }

  const Frontier& frontier_;
  const Trace& trace_;
  const BlockedPlaces places_;
  WaitGraph graph_;
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
