#include "detector/hang/call_mismatch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "detector/model/tuning.h"

namespace lockstep {
namespace {

// The operation and, where all members tell it, the size.
using Call = std::pair<OperationKind, uint64_t>;
using Place = std::pair<size_t, uint64_t>;  // size of the communicator, sequence

struct MemberCall {
  int32_t rank = -1;  // rank index
  Call call;
  Tuning tuning;
};

// The call of each member that has one open there.
std::vector<MemberCall> CallsAt(const Trace& trace, const Frontier& frontier, const BlockedOperation& blocked) {
  std::vector<MemberCall> calls;
  bool sizes_known = true;
  for (const int32_t rank : trace.communicators[static_cast<size_t>(blocked.communicator)].members) {
    if (rank < 0) continue;
    for (const size_t index : frontier.OpenOf(static_cast<size_t>(rank))) {
      const TraceOperation& operation = trace.operations[index];
      if (operation.communicator != blocked.communicator || operation.sequence != blocked.sequence ||
          IsPointToPoint(operation.kind)) {
        continue;
      }
      calls.push_back({rank, {operation.kind, operation.bytes}, operation.tuning});
      sizes_known = sizes_known && operation.bytes > 0;
      break;
    }
  }
  const bool one_kind = std::all_of(calls.begin(), calls.end(),
                                    [&](const MemberCall& one) { return one.call.first == calls[0].call.first; });
  for (MemberCall& one : calls) {
    // Beside another operation, sizes that may differ make no party of their own.
    if (!sizes_known || (!one_kind && !NeedsSameBytes(one.call.first))) one.call.second = 0;
  }
  return calls;
}

// What follows what: how often `call` came right after the call that the rank made before `sequence`, in everything
// that members have finished there. A program repeats itself; the wrong call breaks the pattern.
size_t Precedents(const Trace& trace, const BlockedOperation& blocked, int32_t rank, const Call& call) {
  const auto in_channel = [&](const TraceOperation& operation) {
    return operation.communicator == blocked.communicator && !IsPointToPoint(operation.kind);
  };
  std::map<uint64_t, Call> calls;
  for (const TraceOperation& operation : trace.OperationsOf(static_cast<size_t>(rank))) {
    if (in_channel(operation) && operation.sequence < blocked.sequence) {
      calls[operation.sequence] = {operation.kind, operation.bytes};
    }
  }
  const auto before = calls.find(blocked.sequence - 1);
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
  return parties.begin()->first.first != parties.rbegin()->first.first || NeedsSameBytes(parties.begin()->first.first);
}

// Sizes of an AllToAll may differ, but where they never did, a size that was never seen is the wrong one.
bool BreaksHabit(const std::map<Call, size_t>& precedents, const Call& usual) {
  return std::all_of(precedents.begin(), precedents.end(),
                     [&](const auto& p) { return (p.second > 0) == (p.first == usual); });
}

// Something to sort by.
using Way = std::tuple<CollectiveAlgorithm, CollectiveProtocol, uint16_t>;
Way WayOf(const Tuning& tuning) { return {tuning.algorithm, tuning.protocol, tuning.channels}; }
Tuning TuningOf(const Way& way) { return {std::get<0>(way), std::get<1>(way), std::get<2>(way)}; }

struct Mixed {
  BlockedOperation* blocked;
  std::vector<MemberCall> calls;
};

class Comparison {
 public:
  Comparison(const Trace& trace, const Frontier& frontier) : trace_(trace), frontier_(frontier) {}

  void Run(std::vector<BlockedOperation>* blocked_operations) {
    std::vector<Mixed> mixed_calls, mixed_ways;
    for (BlockedOperation& blocked : *blocked_operations) {
      if (!blocked.collective() || blocked.finished_by_some || blocked.passing) continue;
      std::vector<MemberCall> calls = CallsAt(trace_, frontier_, blocked);
      for (const MemberCall& one : calls) {
        ++calls_[PlaceOf(blocked)][one.call];
        ++ways_[PlaceOf(blocked)][WayOf(one.tuning)];
      }
      const auto differs = [&](auto member) {
        return std::any_of(calls.begin(), calls.end(),
                           [&](const auto& one) { return one.*member != calls[0].*member; });
      };
      if (differs(&MemberCall::call)) {
        mixed_calls.push_back({&blocked, std::move(calls)});
      } else if (differs(&MemberCall::tuning)) {
        mixed_ways.push_back({&blocked, std::move(calls)});
      }
    }
    for (const Mixed& mixed : mixed_calls) JudgeCalls(mixed);
    for (const Mixed& mixed : mixed_ways) JudgeWays(mixed);
  }

 private:
  Place PlaceOf(const BlockedOperation& blocked) const {
    return {trace_.communicators[static_cast<size_t>(blocked.communicator)].members.size(), blocked.sequence};
  }

  void JudgeCalls(const Mixed& mixed) {
    BlockedOperation& blocked = *mixed.blocked;
    std::map<Call, size_t> parties, precedents;
    for (const MemberCall& one : mixed.calls) {
      ++parties[one.call];
      if (!precedents.contains(one.call)) precedents[one.call] = Precedents(trace_, blocked, one.rank, one.call);
    }
    const std::map<Call, size_t>& sisters = calls_.at(PlaceOf(blocked));
    const auto weight = [&](const Call& call) {
      return std::make_tuple(parties[call], sisters.at(call), precedents.at(call));
    };
    const auto largest = std::max_element(parties.begin(), parties.end(), [&](const auto& a, const auto& b) {
      return weight(a.first) < weight(b.first);
    });
    const auto as_large = std::count_if(parties.begin(), parties.end(),
                                        [&](const auto& p) { return weight(p.first) == weight(largest->first); });
    if (!MustAgree(parties) && !BreaksHabit(precedents, largest->first)) return;
    for (const MemberCall& one : mixed.calls) {
      if (as_large > 1 || one.call != largest->first) blocked.differing.push_back(one.rank);
    }
    std::sort(blocked.differing.begin(), blocked.differing.end());
  }

  // Kernels on symmetric memory and copy engines choose their channels for themselves.
  void JudgeWays(const Mixed& mixed) {
    BlockedOperation& blocked = *mixed.blocked;
    std::map<Way, size_t> parties;
    for (const MemberCall& one : mixed.calls) {
      if (one.tuning.algorithm >= CollectiveAlgorithm::kSymmetric) return;
      if (one.tuning != Tuning{}) ++parties[WayOf(one.tuning)];
    }
    if (parties.size() < 2) return;
    const std::map<Way, size_t>& sisters = ways_.at(PlaceOf(blocked));
    const auto weight = [&](const Way& way) { return std::make_pair(parties[way], sisters.at(way)); };
    const auto largest = std::max_element(parties.begin(), parties.end(), [&](const auto& a, const auto& b) {
      return weight(a.first) < weight(b.first);
    });
    const Tuning usual = TuningOf(largest->first);
    bool equals = false;
    for (const auto& [way, count] : parties) {
      if (!Contradict(TuningOf(way), usual)) continue;
      if (!blocked.other_tuning.has_value()) blocked.other_tuning = TuningOf(way);
      equals = equals || weight(way) == weight(largest->first);
    }
    if (!blocked.other_tuning.has_value()) return;
    blocked.usual_tuning = usual;
    for (const MemberCall& one : mixed.calls) {
      if (Contradict(one.tuning, usual) || (equals && one.tuning == usual)) blocked.differing.push_back(one.rank);
    }
    std::sort(blocked.differing.begin(), blocked.differing.end());
  }

  const Trace& trace_;
  const Frontier& frontier_;
  std::map<Place, std::map<Call, size_t>> calls_;
  std::map<Place, std::map<Way, size_t>> ways_;
};

}  // namespace

bool NeedsSameBytes(OperationKind kind) {
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

void FindMismatches(const Trace& trace, const Frontier& frontier, std::vector<BlockedOperation>* blocked_operations) {
  Comparison(trace, frontier).Run(blocked_operations);
}

}  // namespace lockstep
