// The slow, obvious critical path: for each moment between two changes, look at all events. O(n^2). For tests.

#ifndef LOCKSTEP_DETECTOR_TESTING_REFERENCE_PATH_H_
#define LOCKSTEP_DETECTOR_TESTING_REFERENCE_PATH_H_

#include <cstdint>
#include <vector>

#include "detector/patterns/critical_path.h"

namespace lockstep {

// As FindCriticalPath. `events` are in the order in which those of equal begin go: callers first.
CriticalPath ReferenceCriticalPath(const std::vector<PathEvent>& events, const std::vector<PathFunction>& functions,
                                   int64_t begin_ns, int64_t end_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_REFERENCE_PATH_H_
