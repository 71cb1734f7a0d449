// From when to when something was seen, in nanoseconds of the collector's time line; both ends count.
//
// Plain value; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_SEEN_SPAN_H_
#define LOCKSTEP_COLLECTOR_SEEN_SPAN_H_

#include <algorithm>
#include <cstdint>

namespace lockstep {

struct SeenSpan {
  int64_t first_wall_ns = 0;
  int64_t last_wall_ns = 0;

  void Include(const SeenSpan& other) {
    first_wall_ns = std::min(first_wall_ns, other.first_wall_ns);
    last_wall_ns = std::max(last_wall_ns, other.last_wall_ns);
  }
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_SEEN_SPAN_H_
