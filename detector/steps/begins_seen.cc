#include "detector/steps/begins_seen.h"

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "detector/model/input.h"

namespace lockstep {
namespace {

// Of a rank's operations: the first of a job find their GPU idle and begin at once.
constexpr double kHardlyAny = 0.1;

bool SeesBegins(absl::Span<const TraceOperation> operations) {
  size_t seen = 0;
  for (const TraceOperation& operation : operations) {
    seen += operation.started() && operation.start_ns > operation.enqueue_ns &&
            operation.quality != TimingQuality::kHostEnqueue;
  }
  return static_cast<double>(seen) > kHardlyAny * static_cast<double>(operations.size());
}

}  // namespace

std::vector<char> RanksWithoutBegins(const Trace& trace, const JobRoles& roles) {
  std::vector<char> without(trace.ranks.size(), 0);
  for (const std::vector<int32_t>& peers : roles.classes) {
    std::vector<size_t> unseen;
    for (const int32_t peer : peers) {
      const auto rank = static_cast<size_t>(peer);
      if (!SeesBegins(trace.OperationsOf(rank))) unseen.push_back(rank);
    }
    if (2 * unseen.size() >= peers.size()) continue;
    for (const size_t rank : unseen) without[rank] = 1;
  }
  return without;
}

}  // namespace lockstep
