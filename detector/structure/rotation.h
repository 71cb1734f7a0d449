// Does what is worst go round, or does it stay?
//
// Rotation entropy: the entropy of who was worst in how many steps, over the largest that so many steps and places
// allow. Near 1: chance picks another one each time, so that the cause travels with the data or the program. Near 0:
// one owner, hence a machine. (Entropy of the suspected ranks over iterations is what EROICA and Mycroft leave open
// when they demand persistence; the normalisation is ours.) Pure. Cost O(n log n).

#ifndef LOCKSTEP_DETECTOR_STRUCTURE_ROTATION_H_
#define LOCKSTEP_DETECTOR_STRUCTURE_ROTATION_H_

#include <cstddef>
#include <vector>

namespace lockstep {

// From here on it goes round. Of two places that take turns by a fair coin over ten steps, one in fifty stays below;
// what stays on one place in nine steps of ten stays below too, however many places there are.
inline constexpr double kGoesRound = 0.5;

// `worst`: by step, which of `places` was worst. 0 for fewer than two steps or places.
double RotationEntropy(std::vector<size_t> worst, size_t places);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STRUCTURE_ROTATION_H_
