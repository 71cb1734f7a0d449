// Profiles of a simulated job, as patterns, with a fault in them and the truth beside.
//
// A step of each worker is the time of its own functions; all wait for the slowest in the last collective, so that a
// slow worker shows in everybody's profile. Ugly on purpose: GPUs and hosts differ, batches vary in length, libraries
// choose other kernels on some workers, one profiler costs more than the others, rank 0 writes logs, functions are
// missing from summaries and workers from the job, windows are of unequal length, and stages of a pipeline are unequal.
//
// Everything follows from the seed. Pure.

#ifndef LOCKSTEP_SIM_PATTERNS_PATTERN_JOB_H_
#define LOCKSTEP_SIM_PATTERNS_PATTERN_JOB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "detector/patterns/pattern_fleet.h"
#include "sim/patterns/pattern_kinds.h"

namespace lockstep {

struct PatternJobSpec {
  int32_t workers = 8;
  int32_t stages = 1;        // of a pipeline; equal blocks of workers
  uint8_t framework = 1;     // base_functions.h
  bool duties_known = true;  // from records of communication
  bool steps_marked = true;
  double length_spread = 0;            // of the batches of workers, over the window
  const PatternKind* fault = nullptr;  // nullptr = healthy
  std::vector<uint32_t> faulty;        // workers; of a fault of all empty
  double severity = 0;                 // what it adds, as a share of a healthy step
  uint64_t seed = 0;
};

// A job as they are, and a fault of `kind` (nullptr = none) on workers that fit it.
PatternJobSpec DrawPatternJob(const PatternKind* kind, Random& random);

PatternFleet SimulatePatterns(const PatternJobSpec& spec);

// "64 workers in 4 stages: data loading on worker 7, 12 % of a step: ..."
std::string Describe(const PatternJobSpec& spec);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_PATTERNS_PATTERN_JOB_H_
