#include "detector/steps/class_anchor.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/model/disjoint_sets.h"
#include "detector/steps/telling_sizes.h"

namespace lockstep {
namespace {

// Of the time of the longest kind of call, each as it usually is without waits: what is less is latency.
constexpr double kSlightTime = kFew;
constexpr size_t kSampledTransfers = 64;  // budget of time

int32_t FamilyOf(const JobRoles& roles, const TraceOperation& operation) {
  return roles.communicators[static_cast<size_t>(operation.communicator)].family;
}

// Kinds of calls of which the sizes tell which they are.
std::set<std::pair<int32_t, OperationKind>> WithTellingSizes(const JobRoles& roles,
                                                             absl::Span<const TraceOperation> operations) {
  std::map<std::pair<int32_t, OperationKind>, std::vector<uint64_t>> sizes;
  for (const TraceOperation& operation : operations) {
    sizes[{FamilyOf(roles, operation), operation.kind}].push_back(operation.bytes);
  }
  std::set<std::pair<int32_t, OperationKind>> telling;
  for (const auto& [kind, bytes] : sizes) {
    if (SizesTell(bytes)) telling.insert(kind);
  }
  return telling;
}

// What the last member to come spends inside.
void AddTransfer(const Trace& trace, const OperationInstances& matched, size_t operation,
                 std::vector<int64_t>* transfers_ns) {
  const uint32_t instance = matched.instance_of[operation];
  if (instance == kNoInstance) return;
  int64_t quickest_ns = std::numeric_limits<int64_t>::max();
  for (const uint32_t member : matched.MembersOf(matched.instances[instance])) {
    const TraceOperation& of_member = trace.operations[member];
    if (of_member.started() && of_member.finished()) quickest_ns = std::min(quickest_ns, of_member.duration_ns());
  }
  if (quickest_ns < std::numeric_limits<int64_t>::max()) transfers_ns->push_back(quickest_ns);
}

// Where sizes are not recorded, times tell. Calls of several sizes may be of one kind: the longer ones count.
void MarkSlight(const std::vector<AnchorCall>& calls, std::vector<std::vector<int64_t>>* transfers_ns,
                std::vector<CallKind>* kinds) {
  std::vector<int64_t> usual_ns;
  for (std::vector<int64_t>& known : *transfers_ns) {
    std::sort(known.begin(), known.end());
    usual_ns.push_back(known.empty() ? 0 : known[known.size() * 3 / 4]);
  }
  if (usual_ns.empty()) return;
  const auto longest_ns = static_cast<double>(*std::max_element(usual_ns.begin(), usual_ns.end()));
  for (size_t kind = 0; kind < kinds->size(); ++kind) {
    const AnchorCall& call = calls[kind];
    const bool known = call.bytes > 0 || IsSendOrRecv(call.kind) || usual_ns[kind] == 0;
    const bool is_quick = !known && static_cast<double>(usual_ns[kind]) < kSlightTime * longest_ns;
    const bool is_small = call.bytes > 0 && call.bytes < kMuchBytes;
    (*kinds)[kind].slight = call.kind == OperationKind::kBarrier || is_quick || is_small;
  }
  // Where nothing else is called, it has to do.
  const bool all = std::all_of(kinds->begin(), kinds->end(), [](const CallKind& kind) { return kind.slight; });
  for (CallKind& kind : *kinds) kind.slight = kind.slight && !all;
}

// What CallHistory (step_anchor.h) needs of one rank.
struct RankHistory {
  std::vector<AnchorCall> calls;  // by kind, as is the next
  std::vector<CallKind> kinds;
  std::vector<int32_t> numbers;  // of kinds, by call, as are the next
  std::vector<int64_t> launched_ns, begun_ns;
};

RankHistory HistoryOf(const Trace& trace, const OperationInstances& matched, const JobRoles& roles, size_t rank) {
  const std::set<std::pair<int32_t, OperationKind>> telling = WithTellingSizes(roles, trace.OperationsOf(rank));
  std::map<std::tuple<int32_t, OperationKind, uint64_t, int32_t>, int32_t> numbers;
  std::vector<std::vector<int64_t>> transfers_ns;  // by kind
  RankHistory history;
  for (size_t i = trace.first_operation[rank]; i < trace.first_operation[rank + 1]; ++i) {
    const TraceOperation& operation = trace.operations[i];
    const bool one_sided = IsSendOrRecv(operation.kind);
    const int32_t family = FamilyOf(roles, operation);
    const bool by_bytes = !one_sided && telling.contains({family, operation.kind});
    const auto key =
        std::make_tuple(family, operation.kind, by_bytes ? operation.bytes : 0, one_sided ? operation.peer : -1);
    const auto [it, added] = numbers.try_emplace(key, static_cast<int32_t>(history.calls.size()));
    if (added) {
      const size_t members = trace.communicators[static_cast<size_t>(operation.communicator)].members.size();
      history.calls.push_back({family, operation.kind, operation.bytes, by_bytes});
      history.kinds.push_back(
          {.weight = one_sided ? 0 : static_cast<int32_t>(members),
           .sized = by_bytes && operation.bytes > 0,
           .reduces = operation.kind == OperationKind::kAllReduce || operation.kind == OperationKind::kReduceScatter,
           .family = family});
      transfers_ns.emplace_back();
    }
    std::vector<int64_t>& known = transfers_ns[static_cast<size_t>(it->second)];
    if (!one_sided && operation.bytes == 0 && known.size() < kSampledTransfers) {
      AddTransfer(trace, matched, i, &known);
    }
    history.numbers.push_back(it->second);
    history.launched_ns.push_back(LaunchOf(operation));
    history.begun_ns.push_back(operation.start_ns);
  }
  MarkSlight(history.calls, &transfers_ns, &history.kinds);
  return history;
}

// Into how many the peers fall that groups of these families connect.
size_t PartsOfPeers(const Trace& trace, const JobRoles& roles, const std::vector<int32_t>& peers,
                    const std::set<int32_t>& families) {
  const int32_t number = roles.class_of_rank[static_cast<size_t>(peers.front())];
  DisjointSets connected(trace.ranks.size());
  for (size_t c = 0; c < trace.communicators.size(); ++c) {
    if (!families.contains(roles.communicators[c].family)) continue;
    int32_t before = -1;
    for (const int32_t member : trace.communicators[c].members) {
      if (member < 0 || roles.class_of_rank[static_cast<size_t>(member)] != number) continue;
      if (before >= 0) connected.Join(before, member);
      before = member;
    }
  }
  return static_cast<size_t>(
      std::count_if(peers.begin(), peers.end(), [&](int32_t peer) { return connected.Find(peer) == peer; }));
}

size_t RichestOf(const Trace& trace, const std::vector<int32_t>& peers) {
  size_t richest = static_cast<size_t>(peers.front());
  for (const int32_t peer : peers) {
    if (trace.OperationsOf(static_cast<size_t>(peer)).size() > trace.OperationsOf(richest).size()) {
      richest = static_cast<size_t>(peer);
    }
  }
  return richest;
}

}  // namespace

AnchorCall FindClassAnchor(const Trace& trace, const OperationInstances& matched, const JobRoles& roles,
                           const std::vector<int32_t>& peers, bool agree) {
  const RankHistory history = HistoryOf(trace, matched, roles, RichestOf(trace, peers));
  std::map<std::set<int32_t>, size_t> parts_with;  // by families; candidates have few different ones
  const auto parts = [&](const std::vector<int32_t>& some) {
    std::set<int32_t> families;
    for (const int32_t kind : some) families.insert(history.calls[static_cast<size_t>(kind)].family);
    const auto [known, added] = parts_with.try_emplace(std::move(families), 0);
    if (added) known->second = PartsOfPeers(trace, roles, peers, known->first);
    return known->second;
  };
  const StepAnchor anchor =
      FindAnchor({history.numbers, history.launched_ns, history.begun_ns, history.kinds, parts}, agree);
  if (anchor.kind < 0) return AnchorCall{};
  AnchorCall call = history.calls[static_cast<size_t>(anchor.kind)];
  call.per_step = anchor.per_step;
  call.measure = anchor.measure;
  return call;
}

}  // namespace lockstep
