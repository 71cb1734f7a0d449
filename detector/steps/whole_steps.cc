#include "detector/steps/whole_steps.h"

#include <cstddef>
#include <cstdint>

namespace lockstep {

std::vector<char> FindWholeSteps(const OperationInstances& matched, const StepTable& steps) {
  if (matched.holes.empty()) return {};
  std::vector<char> whole(steps.ranges.size());
  for (size_t at = 0; at < whole.size(); ++at) whole[at] = steps.ranges[at].complete && !steps.ranges[at].empty();
  for (size_t rank = 0; rank < steps.ranks; ++rank) {
    for (const SequenceHole& hole : matched.HolesOf(rank)) {
      for (int32_t step = 0; step < steps.steps; ++step) {
        const StepRange& range = steps.Of(rank, step);
        const bool overlaps = !range.empty() && range.begin <= hole.after && hole.before < range.end;
        if (overlaps) whole[rank * static_cast<size_t>(steps.steps) + static_cast<size_t>(step)] = 0;
      }
    }
  }
  return whole;
}

}  // namespace lockstep
