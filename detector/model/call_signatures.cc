#include "detector/model/call_signatures.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/shares.h"

namespace lockstep {
namespace {

// Calls that no rank makes more often, and that are few of its calls: a checkpoint's, of which a burst of losses leaves
// none. By judgement, not measured.
constexpr uint64_t kFewCalls = 8;

// What is done, and the size of the group that does it.
using CallKind = std::pair<int, size_t>;

std::map<CallKind, uint64_t> CallsOf(const Trace& trace, size_t rank) {
  absl::flat_hash_map<uint64_t, uint64_t> counts;
  for (const TraceOperation& operation : trace.OperationsOf(rank)) {
    ++counts[static_cast<uint64_t>(operation.communicator) * 16 + static_cast<uint64_t>(operation.kind)];
  }
  std::map<CallKind, uint64_t> calls;
  for (const auto& [key, count] : counts) {
    calls[{static_cast<int>(key % 16), trace.communicators[key / 16].members.size()}] += count;
  }
  return calls;
}

}  // namespace

std::vector<uint64_t> SignCalls(const Trace& trace) {
  const size_t ranks = trace.ranks.size();
  std::vector<std::map<CallKind, uint64_t>> calls(ranks);
  std::map<CallKind, uint64_t> most;
  uint64_t longest = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    calls[rank] = CallsOf(trace, rank);
    for (const auto& [kind, count] : calls[rank]) most[kind] = std::max(most[kind], count);
    longest = std::max<uint64_t>(longest, trace.OperationsOf(rank).size());
  }
  std::vector<uint64_t> signatures(ranks, 0);
  std::map<std::set<CallKind>, uint64_t> numbers;
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::set<CallKind> regular;
    for (const auto& [kind, count] : calls[rank]) {
      const bool is_rare =
          most[kind] < kFewCalls && static_cast<double>(most[kind]) < kFew * static_cast<double>(longest);
      if (!is_rare) regular.insert(kind);
    }
    signatures[rank] = numbers.try_emplace(std::move(regular), numbers.size()).first->second;
  }
  return signatures;
}

}  // namespace lockstep
