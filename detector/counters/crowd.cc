#include "detector/counters/crowd.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "detector/verdict/many_named.h"

namespace lockstep {
namespace {

using Standing = std::set<std::pair<int64_t, int32_t>>;  // when a case last held, and its host

void ForgetBefore(int64_t now_ms, Standing* standing) {
  standing->erase(standing->begin(), standing->lower_bound({now_ms, std::numeric_limits<int32_t>::min()}));
}

}  // namespace

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
  Standing alarms, alone;
  for (const HistoryCase* const found : by_onset) {
    ForgetBefore(found->onset_ms, &alarms);
    ForgetBefore(found->onset_ms, &alone);
    if (found->kind == CaseKind::kAlarm) alarms.emplace(found->last_ms, found->host);
    alone.emplace(found->last_ms, found->host);
    if (IsFewOf(alarms.size(), machines)) continue;
    for (const auto& one : alone) in_crowds.insert(one.second);
    alone.clear();
  }
  return in_crowds;
}

}  // namespace lockstep
