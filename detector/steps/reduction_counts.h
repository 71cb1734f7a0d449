// Whether stretches of a history are whole steps, or micro-batches of which several make one.
//
// Gradients are summed up over replicas at the end of a step, not of each micro-batch. So where groups that reduce much
// call hardly anything but in every second, third, ... stretch, always after equally many, stretches are parts. Groups
// that also call in the others tell nothing: an evaluation calls more of them, and is no part of a step. Of the groups
// all calls that move much count. What groups other than the anchor's reduce right behind the anchor still ends the
// stretch before. Pure. Cost O(calls log families).

#ifndef LOCKSTEP_DETECTOR_STEPS_REDUCTION_COUNTS_H_
#define LOCKSTEP_DETECTOR_STEPS_REDUCTION_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "detector/steps/call_kind.h"

namespace lockstep {

class ReductionCounts {
 public:
  // `kinds` must outlive it. `family`: of the anchor at which the history is cut into `stretches`.
  ReductionCounts(absl::Span<const CallKind> kinds, int32_t family, size_t stretches);

  // Call by call, in their order. `stretch`: from 0, rising.
  void Note(size_t kind, size_t stretch);

  // Stretches are parts of steps.
  bool TellParts() const;

 private:
  const absl::Span<const CallKind> kinds_;
  const int32_t family_;
  size_t stretch_ = SIZE_MAX;                           // of the newest call
  bool is_end_ = true;                                  // it still ends the stretch before
  std::map<int32_t, std::vector<uint32_t>> of_family_;  // calls, by stretch
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_REDUCTION_COUNTS_H_
