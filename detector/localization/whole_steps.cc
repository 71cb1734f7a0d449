#include "detector/localization/whole_steps.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace lockstep {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// Operations of one rank between which a record is missing.
using Hole = std::pair<uint32_t, uint32_t>;

void FindHoles(const Trace& trace, const OperationInstances& matched, size_t rank, std::vector<uint32_t>* latest,
               std::vector<Hole>* holes) {
  const size_t begin = trace.first_operation[rank], end = trace.first_operation[rank + 1];
  holes->clear();
  for (size_t i = begin; i < end; ++i) {
    if (matched.instance_of[i] == kNoInstance) continue;
    uint32_t& before = (*latest)[static_cast<size_t>(matched.instances[matched.instance_of[i]].channel)];
    const bool known = before != kNone && before >= begin;  // an earlier rank's is no predecessor
    if (known && trace.operations[i].sequence > trace.operations[before].sequence + 1) {
      holes->emplace_back(before, static_cast<uint32_t>(i));
    }
    before = static_cast<uint32_t>(i);
  }
}

}  // namespace

std::vector<char> FindWholeSteps(const Trace& trace, const OperationInstances& matched, const StepTable& steps) {
  std::vector<char> whole(steps.ranges.size());
  for (size_t at = 0; at < whole.size(); ++at) whole[at] = steps.ranges[at].complete && !steps.ranges[at].empty();
  std::vector<uint32_t> latest(matched.channels.size(), kNone);
  std::vector<Hole> holes;
  bool any = false;
  for (size_t rank = 0; rank < steps.ranks; ++rank) {
    FindHoles(trace, matched, rank, &latest, &holes);
    any = any || !holes.empty();
    for (const auto& [before, after] : holes) {
      for (int32_t step = 0; step < steps.steps; ++step) {
        const StepRange& range = steps.Of(rank, step);
        const bool overlaps = !range.empty() && range.begin <= after && before < range.end;
        if (overlaps) whole[rank * static_cast<size_t>(steps.steps) + static_cast<size_t>(step)] = 0;
      }
    }
  }
  if (!any) whole.clear();
  return whole;
}

}  // namespace lockstep
