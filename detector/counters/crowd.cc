#include "detector/counters/crowd.h"

#include <algorithm>
#include <utility>

#include "detector/verdict/many_named.h"

namespace lockstep {

// A crowd is there at the onset of the last one to join it.
std::set<int32_t> HostsInCrowds(absl::Span<const HistoryCase* const> cases, size_t machines) {
  std::vector<const HistoryCase*> by_onset;
  for (const HistoryCase* const found : cases) {
    if (found->kind != CaseKind::kSilence) by_onset.push_back(found);
  }
  std::sort(by_onset.begin(), by_onset.end(), [](const HistoryCase* a, const HistoryCase* b) {
    return std::pair(a->onset_ms, a->host) < std::pair(b->onset_ms, b->host);
  });
  std::set<int32_t> in_crowds;
  std::vector<const HistoryCase*> standing;
  for (const HistoryCase* const found : by_onset) {
    std::erase_if(standing, [found](const HistoryCase* other) { return other->last_ms < found->onset_ms; });
    standing.push_back(found);
    const auto alarms = std::count_if(standing.begin(), standing.end(),
                                      [](const HistoryCase* other) { return other->kind == CaseKind::kAlarm; });
    if (IsFewOf(static_cast<size_t>(alarms), machines)) continue;
    for (const HistoryCase* const one : standing) in_crowds.insert(one->host);
  }
  return in_crowds;
}

}  // namespace lockstep
