#include "detector/hang/wait_clocks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/types/span.h"
#include "base/median.h"
#include "detector/model/trace.h"

namespace lockstep {
namespace {

// One in five, the oldest, holds the first step, in which everybody compiles and connects. By judgement, not measured.
constexpr size_t kStartShare = 5;
// A wait must be this many times as long as the longest finished operation, and a second more.
constexpr int64_t kLongWaitMultiple = 2;
constexpr int64_t kLongWaitFloorNs = 1'000'000'000;
// Where nothing has finished: kUnknownHangTimeoutNs.
constexpr int64_t kUnknownLongWaitNs = 30'000'000'000;

// The longest time inside one operation, after the start.
int64_t LongestUsual(absl::Span<const TraceOperation> operations) {
  int64_t longest_ns = 0;
  for (const TraceOperation& operation : operations.subspan(operations.size() / kStartShare)) {
    if (operation.finished() && operation.started()) longest_ns = std::max(longest_ns, operation.duration_ns());
  }
  return longest_ns;
}

// Since when the rank has done nothing but wait. Calls are queued while others begin and end, and where begins are not
// seen they stand for the calls: whatever the rank is in, it came to rest with its last begin or end. A watched rank
// tells how long it has been inside.
int64_t RestsSince(const Frontier& frontier, size_t rank) {
  const Trace& trace = frontier.trace();
  const TraceOperation& first = trace.operations[frontier.OpenOf(rank).front()];
  int64_t since_ns = first.started() ? first.start_ns : first.enqueue_ns;
  if (frontier.watch() != nullptr) return since_ns;
  for (const TraceOperation& operation : trace.OperationsOf(rank)) {
    since_ns = std::max(since_ns, operation.end_ns);
    if (frontier.TellsBegun(rank)) since_ns = std::max(since_ns, operation.start_ns);
  }
  return since_ns;
}

}  // namespace

WaitClocks MeasureWaits(const Frontier& frontier) {
  const Trace& trace = frontier.trace();
  WaitClocks clocks;
  std::vector<int64_t> newest(trace.hosts.size(), kNoTime);
  std::vector<int64_t> longest;
  clocks.waited_ns.assign(trace.ranks.size(), 0);
  clocks.quiet_ns.assign(trace.ranks.size(), 0);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const TraceRank& who = trace.ranks[rank];
    clocks.looked_at = clocks.looked_at || who.last_seen_ns != kNoTime;
    if (who.host < 0) continue;
    int64_t own_ns = kNoTime;
    for (const TraceOperation& operation : trace.OperationsOf(rank)) {
      own_ns = std::max({own_ns, operation.enqueue_ns, operation.start_ns, operation.end_ns});
    }
    int64_t& last_ns = newest[static_cast<size_t>(who.host)];
    last_ns = std::max({last_ns, who.last_seen_ns, own_ns});
    if (own_ns != kNoTime && who.last_seen_ns > own_ns) clocks.quiet_ns[rank] = who.last_seen_ns - own_ns;
    longest.push_back(LongestUsual(trace.OperationsOf(rank)));
  }
  // The middle rank's longest time inside, without the first fifth of its records: everybody compiles and connects.
  const int64_t usual_ns = UpperMedian(&longest);
  clocks.long_ns = usual_ns > 0 ? kLongWaitFloorNs + kLongWaitMultiple * usual_ns + 1 : kUnknownLongWaitNs + 1;
  if (frontier.watch() != nullptr) clocks.long_ns = frontier.watch()->patience_ns;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const TraceRank& who = trace.ranks[rank];
    if (who.host < 0 || frontier.OpenOf(rank).empty()) continue;
    const int64_t since = RestsSince(frontier, rank);
    if (since != kNoTime) clocks.waited_ns[rank] = newest[static_cast<size_t>(who.host)] - since;
  }
  return clocks;
}

}  // namespace lockstep
