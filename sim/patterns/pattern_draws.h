// Draws that profiles of simulated jobs are made of. Pure but for the sequence that they draw from.

#ifndef LOCKSTEP_SIM_PATTERNS_PATTERN_DRAWS_H_
#define LOCKSTEP_SIM_PATTERNS_PATTERN_DRAWS_H_

#include <cmath>

#include "base/random.h"

namespace lockstep {

// Between two positive numbers; each doubling is as likely as any other.
inline double DrawLogUniform(double low, double high, Random& random) {
  return low * std::pow(high / low, random.Unit());
}

// Uniform.
inline double DrawBetween(double low, double high, Random& random) { return low + (high - low) * random.Unit(); }

// A factor around 1, above 0; its logarithm is normal with this standard deviation.
inline double DrawJitter(double spread, Random& random) { return std::exp(spread * random.Gaussian()); }

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_PATTERNS_PATTERN_DRAWS_H_
