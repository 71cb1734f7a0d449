#include "detector/progress/call_mismatch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace lockstep {
namespace {

// The operation and, where all members tell it, the size.
using Call = std::pair<OperationKind, uint64_t>;
using Place = std::pair<size_t, uint64_t>;  // size of the communicator, sequence

bool SameBytesNeeded(OperationKind kind) {
  switch (kind) {
    case OperationKind::kAllReduce:
    case OperationKind::kAllGather:
    case OperationKind::kReduceScatter:
    case OperationKind::kBroadcast:
    case OperationKind::kReduce:
      return true;
    default:
      return false;
  }
}

// The call of each member that has one open there.
std::vector<std::pair<int32_t, Call>> CallsAt(const Trace& trace, const TraceFrontier& frontier,
                                              const Standing& standing) {
  std::vector<std::pair<int32_t, Call>> calls;
  bool sizes_known = true;
  for (const int32_t rank : trace.communicators[static_cast<size_t>(standing.communicator)].members) {
    if (rank < 0) continue;
    for (const size_t index : frontier.OpenOf(static_cast<size_t>(rank))) {
      const TraceOperation& operation = trace.operations[index];
      if (operation.communicator != standing.communicator || operation.sequence != standing.sequence ||
          IsPointToPoint(operation.kind)) {
        continue;
      }
      calls.push_back({rank, {operation.kind, operation.bytes}});
      sizes_known = sizes_known && operation.bytes > 0;
      break;
    }
  }
  if (!sizes_known) {
    for (auto& [rank, call] : calls) call.second = 0;
  }
  return calls;
}

// What follows what: how often `call` came right after the call that the rank made before `sequence`, in everything
// that members have finished there. A program repeats itself; the wrong call breaks the pattern.
size_t Precedents(const Trace& trace, const Standing& standing, int32_t rank, const Call& call) {
  const auto in_channel = [&](const TraceOperation& operation) {
    return operation.communicator == standing.communicator && !IsPointToPoint(operation.kind);
  };
  std::map<uint64_t, Call> calls;
  for (const TraceOperation& operation : trace.OperationsOf(static_cast<size_t>(rank))) {
    if (in_channel(operation) && operation.sequence < standing.sequence) {
      calls[operation.sequence] = {operation.kind, operation.bytes};
    }
  }
  const auto before = calls.find(standing.sequence - 1);
  size_t precedents = 0;
  for (auto it = calls.begin(); it != calls.end(); ++it) {
    const auto next = calls.find(it->first + 1);
    if (next == calls.end() || next->second != call) continue;
    if (before == calls.end() || it->second == before->second) ++precedents;
  }
  return precedents;
}

// Different operations never meet, and some operations need the same size everywhere.
bool MustAgree(const std::map<Call, size_t>& parties) {
  return parties.begin()->first.first != parties.rbegin()->first.first || SameBytesNeeded(parties.begin()->first.first);
}

// Sizes of an AllToAll may differ, but where they never did, a size that was never seen is the wrong one.
bool BreaksHabit(const std::map<Call, size_t>& precedents, const Call& usual) {
  return std::all_of(precedents.begin(), precedents.end(),
                     [&](const auto& p) { return (p.second > 0) == (p.first == usual); });
}

}  // namespace

void FindMismatches(const Trace& trace, const TraceFrontier& frontier, std::vector<Standing>* standings) {
  std::map<Place, std::map<Call, size_t>> common;
  std::vector<std::pair<Standing*, std::vector<std::pair<int32_t, Call>>>> mixed;
  for (Standing& standing : *standings) {
    if (!standing.collective() || standing.finished_by_some) continue;
    std::vector<std::pair<int32_t, Call>> calls = CallsAt(trace, frontier, standing);
    const size_t members = trace.communicators[static_cast<size_t>(standing.communicator)].members.size();
    for (const auto& [rank, call] : calls) ++common[{members, standing.sequence}][call];
    const bool same =
        std::all_of(calls.begin(), calls.end(), [&](const auto& c) { return c.second == calls[0].second; });
    if (!same) mixed.push_back({&standing, std::move(calls)});
  }
  for (auto& [standing, calls] : mixed) {
    std::map<Call, size_t> parties;
    for (const auto& [rank, call] : calls) ++parties[call];
    const size_t members = trace.communicators[static_cast<size_t>(standing->communicator)].members.size();
    const std::map<Call, size_t>& sisters = common[{members, standing->sequence}];
    std::map<Call, size_t> precedents;
    for (const auto& [rank, call] : calls) {
      if (!precedents.contains(call)) precedents[call] = Precedents(trace, *standing, rank, call);
    }
    const auto weight = [&](const Call& call) {
      return std::make_tuple(parties[call], sisters.at(call), precedents.at(call));
    };
    const auto largest = std::max_element(parties.begin(), parties.end(), [&](const auto& a, const auto& b) {
      return weight(a.first) < weight(b.first);
    });
    const auto as_large = std::count_if(parties.begin(), parties.end(),
                                        [&](const auto& p) { return weight(p.first) == weight(largest->first); });
    if (!MustAgree(parties) && !BreaksHabit(precedents, largest->first)) continue;
    for (const auto& [rank, call] : calls) {
      if (as_large > 1 || call != largest->first) standing->differing.push_back(rank);
    }
    std::sort(standing->differing.begin(), standing->differing.end());
  }
}

}  // namespace lockstep
