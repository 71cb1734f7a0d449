// Where each step of each rank begins and ends in the records, and how long the job's steps took. Pure values.

#ifndef LOCKSTEP_DETECTOR_STEPS_STEP_TABLE_H_
#define LOCKSTEP_DETECTOR_STEPS_STEP_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

// Steps before one that tell what was usual then: the fewest of which a median leaves one out.
inline constexpr size_t kMinPastSteps = 3;

// Operations of one rank in one step: [begin, end) of Trace::operations.
struct StepRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool complete = false;  // both ends are known; of a rank's first, it has as many records as the rank's usual step

  bool empty() const { return begin == end; }
};

struct StepTable {
  int32_t steps = 0;
  size_t ranks = 0;
  std::vector<StepRange> ranges;     // by rank, then step
  std::vector<double> step_seconds;  // by step: median over ranks; 0 = unknown (its beginning is not recorded)
  std::vector<char> usual;           // by step: 1 = in usual time or less, 0 = unknown, or with a pause, an evaluation
                                     // or another program in it (usual_steps.h)
  std::vector<char> waited;          // by step: 1 = not usual, longer because ranks wait in calls of every step
  double usual_seconds = 0;          // median over usual steps; 0 = unknown
  double usual_spread_seconds = 0;   // robust standard deviation of usual steps

  const StepRange& Of(size_t rank, int32_t step) const {
    return ranges[rank * static_cast<size_t>(steps) + static_cast<size_t>(step)];
  }
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_STEP_TABLE_H_
