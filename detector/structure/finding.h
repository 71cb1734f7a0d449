// One structural cause, before it becomes a verdict. Pure value.

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_FINDING_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_FINDING_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "detector/verdict/reason.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct StructuralFinding {
  StatedClass verdict_class;
  int64_t first_step = 0;
  int64_t last_step = 0;
  double gain = 0;            // share of the step time that its absence would give back
  double seconds = 0;         // the same per step; 0 = that share of a typical one
  double steps_affected = 1;  // share of the steps from first_step to last_step
  Reason reason;
  bool planned = false;  // by the program: nothing is wrong
};

// A finding about all steps of the records.
inline StructuralFinding Throughout(VerdictClass verdict_class, size_t steps, double gain, Reason reason) {
  return {.verdict_class = verdict_class,
          .first_step = 0,
          .last_step = static_cast<int64_t>(steps) - 1,
          .gain = gain,
          .reason = std::move(reason)};
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_FINDING_H_
