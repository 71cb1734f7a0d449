// One structural cause, before it becomes a verdict. Pure value.

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_FINDING_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_FINDING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "detector/verdict/verdict.h"

namespace lockstep {

struct StructuralFinding {
  StatedClass verdict_class;
  int64_t first_step = 0;
  int64_t last_step = 0;
  double gain = 0;            // share of the step time that its absence would give back
  double steps_affected = 1;  // share of the steps from first_step to last_step
  std::string text;           // one sentence with numbers
};

// A finding about all steps of the records.
inline StructuralFinding Throughout(VerdictClass verdict_class, size_t steps, double gain, std::string text) {
  return {.verdict_class = verdict_class,
          .first_step = 0,
          .last_step = static_cast<int64_t>(steps) - 1,
          .gain = gain,
          .text = std::move(text)};
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_FINDING_H_
