#include "detector/testing/reference_path.h"

#include <cstddef>
#include <set>
#include <tuple>

namespace lockstep {
namespace {

// Larger = nearer to the root of a stack, or begun earlier.
auto OrderOf(const PathEvent& event) {
  return std::make_tuple(int64_t{event.begin_ns}, -int64_t{event.duration_ns}, uint64_t{event.lane}, event.function);
}

bool Contains(const PathEvent& caller, const PathEvent& event) {
  return caller.lane == event.lane && OrderOf(caller) < OrderOf(event) && event.end_ns() <= caller.end_ns() &&
         caller.end_ns() > event.begin_ns;
}

// The innermost caller that takes calls, or the function itself.
uint32_t CreditedFunction(const PathEvent& event, const std::vector<PathEvent>& events,
                          const std::vector<PathFunction>& functions) {
  if (!functions[event.function].gives_calls || functions[event.function].takes_calls) return event.function;
  const PathEvent* innermost = nullptr;
  for (const PathEvent& caller : events) {
    if (!functions[caller.function].takes_calls || !Contains(caller, event)) continue;
    if (innermost == nullptr || OrderOf(*innermost) < OrderOf(caller)) innermost = &caller;
  }
  return innermost == nullptr ? event.function : innermost->function;
}

}  // namespace

CriticalPath ReferenceCriticalPath(const std::vector<PathEvent>& events, const std::vector<PathFunction>& functions,
                                   int64_t begin_ns, int64_t end_ns) {
  CriticalPath path;
  path.function_ns.resize(functions.size());
  std::set<int64_t> changes = {begin_ns, end_ns};
  std::vector<uint32_t> credited;
  for (const PathEvent& event : events) {
    credited.push_back(CreditedFunction(event, events, functions));
    for (const int64_t change : {int64_t{event.begin_ns}, event.end_ns()}) {
      if (begin_ns < change && change < end_ns) changes.insert(change);
    }
  }
  for (auto change = changes.begin(); std::next(change) != changes.end(); ++change) {
    const int64_t from_ns = *change;
    const int64_t to_ns = *std::next(change);
    size_t first = events.size();
    for (size_t i = 0; i < events.size(); ++i) {
      if (events[i].begin_ns > from_ns || events[i].end_ns() < to_ns) continue;
      if (first == events.size()) {
        first = i;
        continue;
      }
      const uint8_t of_first = functions[credited[first]].priority;
      const uint8_t of_this = functions[credited[i]].priority;
      if (of_this < of_first || (of_this == of_first && OrderOf(events[first]) < OrderOf(events[i]))) first = i;
    }
    (first == events.size() ? path.idle_ns : path.function_ns[credited[first]]) += to_ns - from_ns;
  }
  return path;
}

}  // namespace lockstep
