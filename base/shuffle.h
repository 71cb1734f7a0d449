// A random order of things, the same on every machine for the same seed.
//
// Pure but for the chance that it is given.

#ifndef LOCKSTEP_BASE_SHUFFLE_H_
#define LOCKSTEP_BASE_SHUFFLE_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "base/random.h"

namespace lockstep {

// Fisher and Yates: every order is equally likely.
template <typename T>
void Shuffle(Random& random, std::vector<T>* values) {
  for (size_t left = values->size(); left > 1; --left) {
    std::swap((*values)[left - 1], (*values)[random.Below(left)]);
  }
}

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_SHUFFLE_H_
