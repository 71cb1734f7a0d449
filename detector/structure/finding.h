// One structural cause, before it becomes a verdict. Pure value.

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_FINDING_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_FINDING_H_

#include <cstdint>
#include <string>

#include "detector/verdict.h"

namespace lockstep {

struct StructuralFinding {
  VerdictClass verdict_class = VerdictClass::kStageImbalance;
  int64_t first_step = 0;
  int64_t last_step = 0;
  double gain = 0;            // share of the step time that its absence would give back
  double steps_affected = 1;  // share of the steps from first_step to last_step
  std::string text;           // one sentence with numbers
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_FINDING_H_
