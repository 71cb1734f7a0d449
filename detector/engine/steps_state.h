// What is said of the steps of a job that moves, by the looks at it and its pace.

#ifndef LOCKSTEP_DETECTOR_ENGINE_STEPS_STATE_H_
#define LOCKSTEP_DETECTOR_ENGINE_STEPS_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/engine/close_look.h"
#include "detector/verdict/job_report.h"

namespace lockstep {

struct StepsState {
  JobState state = JobState::kUnknown;
  bool is_well = false;  // nothing is wrong with what is known of it
  std::string note;      // why, in sentences
};

// What else is known of the job.
struct BesideSteps {
  int64_t still_ns = 0;             // since an operation of any rank has ended; 0 = not known
  std::vector<std::string> others;  // why others than the looks tell nothing, sentences
};

// Pure.
StepsState StateOfSteps(const CloseLook& look, const BesideSteps& beside);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_STEPS_STATE_H_
