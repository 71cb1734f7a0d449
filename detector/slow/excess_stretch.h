// The stretch of steps in which a rank exceeds its peers, and the noise that it has to exceed. Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_EXCESS_STRETCH_H_
#define LOCKSTEP_DETECTOR_SLOW_EXCESS_STRETCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/steps/own_profile.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// With fewer, one odd step (warm-up, what follows a pause) is as good as the majority.
inline constexpr int32_t kMinSuspectSteps = 4;

struct ExcessNoise {
  double between_steps = 0;  // of one rank's excess from step to step
  double between_peers = 0;  // of the ranks' medians
};
// Of the steps from `first` to `last`: where batches begin to vary, a quiet past says nothing of what is noise then.
ExcessNoise NoiseOf(const OwnProfile& profile, const std::vector<int32_t>& peers, size_t first, size_t last);

// Finds the stretch of what exceeds `least` seconds at all, then that of half of the effect: a rank that was a little
// slow before its fault began has its onset at the fault, however long before and however few steps ago.
bool FindStretch(const OwnProfile& profile, size_t rank, double least, size_t* first, size_t* last);

// Where records are lost, a slow rank's own time is a lower bound: a step of it that is slow counts, one that is not
// says nothing. So the level is that of the steps of which no record is lost, where these are not too few.
struct ExcessStretch {
  std::vector<size_t> known;
  std::vector<size_t> telling;  // of these, the complete ones, or all
};
ExcessStretch LookAt(const OwnProfile& profile, size_t rank, size_t first, size_t last);

// Usual steps next to `step`, in one direction, of which nothing is known, or too little to tell.
int32_t UnknownBeside(const OwnProfile& profile, const StepTable& steps, size_t rank, size_t step, int direction);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_EXCESS_STRETCH_H_
