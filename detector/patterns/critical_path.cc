#include "detector/patterns/critical_path.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace lockstep {
namespace {

// Callers before what they call.
bool IsBefore(const PathEvent& a, const PathEvent& b) {
  return std::make_tuple(int64_t{a.begin_ns}, -int64_t{a.duration_ns}, uint64_t{a.lane}, a.function) <
         std::make_tuple(int64_t{b.begin_ns}, -int64_t{b.duration_ns}, uint64_t{b.lane}, b.function);
}

// The calls of one lane that take calls and may still run.
struct Caller {
  int64_t end_ns;
  uint32_t function;
};

// Lets functions of the host count as those that call them. `events` are in order.
void Credit(absl::Span<PathEvent> events, absl::Span<const PathFunction> functions) {
  std::vector<std::vector<Caller>> lanes;
  for (PathEvent& event : events) {
    const PathFunction& function = functions[event.function];
    if (!function.takes_calls && !function.gives_calls) continue;
    if (event.lane >= lanes.size()) lanes.resize(size_t{event.lane} + 1);
    std::vector<Caller>& callers = lanes[event.lane];
    while (!callers.empty() && callers.back().end_ns <= event.begin_ns) callers.pop_back();
    if (function.takes_calls) {
      callers.push_back({event.end_ns(), event.function});
    } else if (!callers.empty() && event.end_ns() <= callers.back().end_ns) {
      event.function = callers.back().function;
    }
  }
}

class Sweep {
 public:
  Sweep(absl::Span<const PathEvent> events, absl::Span<const PathFunction> functions, int64_t begin_ns)
      : events_(events), functions_(functions), now_ns_(begin_ns) {
    path_.function_ns.resize(functions.size());
  }

  // Up to `until_ns` nothing begins.
  void Advance(int64_t until_ns) {
    while (now_ns_ < until_ns) {
      while (!running_.empty() && events_[running_.front()].end_ns() <= now_ns_) Pop();
      if (running_.empty()) {
        path_.idle_ns += until_ns - now_ns_;
        now_ns_ = until_ns;
        return;
      }
      const PathEvent& first = events_[running_.front()];
      const int64_t end_ns = std::min(until_ns, first.end_ns());
      path_.function_ns[first.function] += end_ns - now_ns_;
      now_ns_ = end_ns;
    }
  }

  void Begin(uint32_t event) {
    running_.push_back(event);
    std::push_heap(running_.begin(), running_.end(), Later(*this));
  }

  CriticalPath Take() { return std::move(path_); }

 private:
  // Whether `a` goes behind `b`: by kind, then whoever began first. Events are numbered in their order.
  struct Later {
    explicit Later(const Sweep& sweep) : sweep(sweep) {}
    bool operator()(uint32_t a, uint32_t b) const {
      const uint8_t of_a = sweep.functions_[sweep.events_[a].function].priority;
      const uint8_t of_b = sweep.functions_[sweep.events_[b].function].priority;
      return of_a != of_b ? of_a > of_b : a < b;
    }
    const Sweep& sweep;
  };

  void Pop() {
    std::pop_heap(running_.begin(), running_.end(), Later(*this));
    running_.pop_back();
  }

  const absl::Span<const PathEvent> events_;
  const absl::Span<const PathFunction> functions_;
  int64_t now_ns_;
  std::vector<uint32_t> running_;  // a heap; those that ended are taken out when they come to its top
  CriticalPath path_;
};

}  // namespace

CriticalPath FindCriticalPath(absl::Span<PathEvent> events, absl::Span<const PathFunction> functions, int64_t begin_ns,
                              int64_t end_ns) {
  std::sort(events.begin(), events.end(), IsBefore);
  Credit(events, functions);
  Sweep sweep(events, functions, begin_ns);
  for (size_t i = 0; i < events.size() && events[i].begin_ns < end_ns; ++i) {
    if (events[i].end_ns() <= begin_ns) continue;
    sweep.Advance(events[i].begin_ns);
    sweep.Begin(static_cast<uint32_t>(i));
  }
  sweep.Advance(end_ns);
  return sweep.Take();
}

}  // namespace lockstep
