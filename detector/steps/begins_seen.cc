#include "detector/steps/begins_seen.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/model/begin_order.h"
#include "detector/model/input.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

// Of a rank's operations: some find their GPU idle and begin at once.
constexpr double kHardlyAny = kFew;
// Of a rank's collectives, beside another kind: more than recorders err by. By judgement, not measured.
constexpr double kAnyBeside = kFew * kFew;

struct Begins {
  bool never = false;   // the recorder says so, or it cannot have seen them
  bool hardly = false;  // any is later than its call
  double inside_seconds = 0;
};

// On a stream that kinds share nothing runs beside anything. Where something does on most ranks, kinds have streams of
// their own, and a rank whose operations take longer has more of it.
bool KindsHaveStreams(const Trace& trace) {
  std::vector<double> beside;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank)
    beside.push_back(ShareBesideOthers(trace.OperationsOf(rank)));
  return MedianInPlace(&beside) > kAnyBeside;
}

Begins BeginsOf(absl::Span<const TraceOperation> operations, bool by_kind) {
  size_t seen = 0;
  size_t only_handed_over = 0;
  int64_t inside_ns = 0;
  for (const TraceOperation& operation : operations) {
    only_handed_over += operation.quality == TimingQuality::kHostEnqueue;
    if (!operation.started()) continue;
    seen += operation.start_ns > operation.enqueue_ns;
    if (operation.finished()) inside_ns += operation.duration_ns();
  }
  const double few = kHardlyAny * static_cast<double>(operations.size());
  const bool hardly = static_cast<double>(seen) <= few;
  return {.never = 2 * only_handed_over > operations.size() || (hardly && BeginsOutOfTurn(operations, by_kind)),
          .hardly = hardly,
          .inside_seconds = ToSeconds(inside_ns)};
}

}  // namespace

std::vector<char> RanksWithoutBegins(const Trace& trace, const JobRoles& roles) {
  std::vector<Begins> begins;
  std::vector<char> without;
  const bool by_kind = KindsHaveStreams(trace);
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    begins.push_back(BeginsOf(trace.OperationsOf(rank), by_kind));
    without.push_back(begins.back().never ? 1 : 0);
  }
  // Where most do not see them, what they tell instead is all that ranks can be compared by.
  const auto blind = static_cast<size_t>(std::count(without.begin(), without.end(), 1));
  if (2 * blind > without.size()) without.assign(without.size(), 0);
  for (const std::vector<int32_t>& peers : roles.classes) {
    std::vector<double> inside;
    for (const int32_t peer : peers) inside.push_back(begins[static_cast<size_t>(peer)].inside_seconds);
    const double usual_inside = MedianInPlace(&inside);
    size_t hardly = 0;
    std::vector<size_t> unseen;
    for (const int32_t peer : peers) {
      const Begins& of_peer = begins[static_cast<size_t>(peer)];
      if (!of_peer.hardly) continue;
      ++hardly;
      if (of_peer.inside_seconds > usual_inside) unseen.push_back(static_cast<size_t>(peer));
    }
    if (2 * hardly >= peers.size()) continue;
    for (const size_t rank : unseen) without[rank] = 1;
  }
  return without;
}

}  // namespace lockstep
