// What happens to the whole job at once: a regression after a change, a slow drift, a pause. Nobody is to blame.
//
// Looks at the common mode: the middle over all ranks of own time against the rank's own middle. A change point is the
// split of the series into two levels that leaves least (single-change least squares; BOCD and CUSUM would find the
// same on a recorded series); it must be significant at one false alarm in some thousand series, leave less than a
// smooth curve does, and be shared by nearly all ranks. Steps at the start that are longer (compilation, warm-up) are
// left out. Cost O(ranks x steps). Pure.

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_JOB_CHANGE_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_JOB_CHANGE_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "detector/steps/step_profile.h"
#include "detector/structure/finding.h"

namespace lockstep {

// By step: own time of the middle rank against its middle over all steps. NaN where nothing is known.
std::vector<double> CommonMode(const StepProfile& profile);

// The best split of a series: [0, at) and [at, n).
struct LevelShift {
  size_t at = 0;
  double before = 0;
  double after = 0;
  double significance = 0;  // in standard errors of the difference
  double left = 0;          // sum of squares about the two levels
};
// at = 0 when there are fewer than `min_side` values on either side.
LevelShift FindLevelShift(absl::Span<const double> series, size_t min_side);

// A value further from both of its neighbours than the noise allows becomes their middle: a spike is neither a level
// nor a curve. Other values stay as they are, so that the noise stays as independent as it was.
std::vector<double> WithoutSpikes(const std::vector<double>& series);

std::vector<StructuralFinding> FindRegression(const StepProfile& profile, double min_gain);
// Only where no regression was found.
std::vector<StructuralFinding> FindDrift(const StepProfile& profile);
// Breaks in which all ranks are idle. Breaks that are alike or come back at equal intervals are the job's own schedule:
// told when they take at least `min_gain` of the time.
std::vector<StructuralFinding> FindPauses(const StepProfile& profile, double min_gain);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_JOB_CHANGE_H_
