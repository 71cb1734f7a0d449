#include "detector/steps/begins_seen.h"

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/stats/order_statistics.h"

namespace lockstep {
namespace {

// Of a rank's operations: some find their GPU idle and begin at once.
constexpr double kHardlyAny = kFew;

struct Begins {
  bool never = false;   // the recorder says so
  bool hardly = false;  // any is later than its call
  double inside_seconds = 0;
};

Begins BeginsOf(absl::Span<const TraceOperation> operations) {
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
  return {.never = 2 * only_handed_over > operations.size(),
          .hardly = static_cast<double>(seen) <= few,
          .inside_seconds = ToSeconds(inside_ns)};
}

}  // namespace

std::vector<char> RanksWithoutBegins(const Trace& trace, const JobRoles& roles) {
  std::vector<char> without(trace.ranks.size(), 0);
  for (const std::vector<int32_t>& peers : roles.classes) {
    std::vector<Begins> begins;
    std::vector<double> inside;
    for (const int32_t peer : peers) {
      begins.push_back(BeginsOf(trace.OperationsOf(static_cast<size_t>(peer))));
      inside.push_back(begins.back().inside_seconds);
    }
    const double usual_inside = MedianInPlace(&inside);
    std::vector<size_t> unseen;
    for (size_t i = 0; i < peers.size(); ++i) {
      const bool stays_longer = begins[i].inside_seconds > usual_inside;
      if (begins[i].never || (begins[i].hardly && stays_longer)) unseen.push_back(static_cast<size_t>(peers[i]));
    }
    if (2 * unseen.size() >= peers.size()) continue;
    for (const size_t rank : unseen) without[rank] = 1;
  }
  return without;
}

}  // namespace lockstep
