#include "detector/testing/reference.h"

#include <algorithm>

namespace lockstep {

size_t ReferencePeriod(const std::vector<uint64_t>& calls, int min_repetitions, double max_mismatch) {
  for (size_t period = 1; period * static_cast<size_t>(min_repetitions) <= calls.size(); ++period) {
    size_t mismatches = 0;
    for (size_t i = period; i < calls.size(); ++i) mismatches += calls[i] != calls[i - period] ? 1 : 0;
    const auto pairs = static_cast<double>(calls.size() - period);
    if (mismatches <= static_cast<size_t>(max_mismatch * pairs)) return period;
  }
  return 0;
}

double ReferenceReplaySeconds(const TypicalStep& step, const std::vector<char>& healed) {
  double total = 0;
  for (const StepSegment& segment : step.segments) {
    std::vector<double> end(segment.nodes.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t rank = 0; rank < segment.chains.size(); ++rank) {
        double left = 0;
        for (const StepLink& link : segment.chains[rank]) {
          const bool heal = healed[rank] != 0 && link.peer_seconds >= 0;
          const double own = heal ? std::min(link.own_seconds, link.peer_seconds) : link.own_seconds;
          const auto node = static_cast<size_t>(link.node);
          const double leaves = left + own + link.opaque_seconds + segment.nodes[node].transfer_seconds;
          if (leaves > end[node]) {
            end[node] = leaves;
            changed = true;
          }
          left = end[node];
        }
      }
    }
    total += end.back();
  }
  return total;
}

bool ReferenceHistory::Complete(int32_t communicator, uint64_t sequence, int32_t size) const {
  const auto it = members_.find({communicator, sequence});
  return it != members_.end() && static_cast<int32_t>(it->second.size()) == size;
}

}  // namespace lockstep
