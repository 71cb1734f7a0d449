// Chance as an injected dependency: a small seeded generator whose sequence is the same on every platform.

#ifndef LOCKSTEP_BASE_RANDOM_H_
#define LOCKSTEP_BASE_RANDOM_H_

#include <cstdint>

namespace lockstep {

// SplitMix64 (Steele, Lea, Flood 2014): full period, passes BigCrush, eight bytes of state. Not for cryptography.
// Not thread-safe; copy it to fork a sequence.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // Uniform over all 64-bit values.
  uint64_t Next();

  // Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound);

  // Uniform in [0, 1).
  double Unit();

  // Normal with mean 0 and standard deviation 1.
  double Gaussian();

 private:
  uint64_t state_;
};

// A seed that differs between processes and starts; for jitter and incarnation ids only.
uint64_t SeedFromSystem();

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_RANDOM_H_
