// When the work of a rank may have gone on, and what the times of two operations say about it.
//
// Pure; thread-safe.

#ifndef LOCKSTEP_DETECTOR_STEPS_WORK_MOMENT_H_
#define LOCKSTEP_DETECTOR_STEPS_WORK_MOMENT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "detector/model/begin_order.h"
#include "detector/model/trace.h"

namespace lockstep {

// No predecessor, or the operation never began.
inline constexpr uint32_t kNoOperation = std::numeric_limits<uint32_t>::max();

// The start of an operation, or its end.
struct WorkMoment {
  int64_t at_ns = kNoTime;
  uint32_t operation = kNoOperation;
  bool is_end = false;
};

// The later of the two; of two at one time, `moment`.
inline void GoOn(const WorkMoment& moment, WorkMoment* latest) {
  if (latest->operation == kNoOperation || latest->at_ns <= moment.at_ns) *latest = moment;
}

// The second began as soon as the first, before it in its communicator, had ended.
inline bool StoodBehind(const TraceOperation& ended, const TraceOperation& operation) {
  return ended.communicator == operation.communicator &&
         operation.start_ns - ended.end_ns <= ended.duration_ns() / kEndTolerance;
}

// Those of [begin, end) that began, with their starts, by these. Cost O(n) where they are in order already.
inline void OrderByStart(const Trace& trace, size_t begin, size_t end,
                         std::vector<std::pair<int64_t, uint32_t>>* order) {
  order->clear();
  bool sorted = true;
  for (size_t i = begin; i < end; ++i) {
    const TraceOperation& operation = trace.operations[i];
    if (!operation.started()) continue;
    sorted &= order->empty() || order->back().first <= operation.start_ns;
    order->emplace_back(operation.start_ns, static_cast<uint32_t>(i));
  }
  if (!sorted) std::sort(order->begin(), order->end());
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_WORK_MOMENT_H_
