// To which function each moment of a window belongs: what the rank waited for.
//
// Among the functions that run, the kind decides (function_kind.h), then the one that began last: the innermost of a
// stack, the newest of two streams. A function of the host may stand in for what it calls (`creditor`): time below a
// data loader's __next__ is time of the data loader, whatever it calls.
//
// O(n log n), 4 bytes per event besides the events. Pure; the slow reference is detector/testing/reference_path.h.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_CRITICAL_PATH_H_
#define LOCKSTEP_DETECTOR_PATTERNS_CRITICAL_PATH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

// 16 bytes: a profile has millions.
struct PathEvent {
  int64_t begin_ns : 48;
  uint64_t lane : 16;  // thread or stream
  uint32_t duration_ns;
  uint32_t function;

  int64_t end_ns() const { return begin_ns + int64_t{duration_ns}; }
};
static_assert(sizeof(PathEvent) == 16);

struct PathFunction {
  uint8_t priority = 0;      // smaller goes first
  bool takes_calls = false;  // of the host: what it calls, and does not take calls itself, counts as this function
  bool gives_calls = false;  // of the host: may count as the one that calls it
};

struct CriticalPath {
  std::vector<int64_t> function_ns;  // by function
  int64_t idle_ns = 0;
};

// The window is [begin_ns, end_ns). Reorders `events`.
CriticalPath FindCriticalPath(absl::Span<PathEvent> events, absl::Span<const PathFunction> functions, int64_t begin_ns,
                              int64_t end_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_CRITICAL_PATH_H_
