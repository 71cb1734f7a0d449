// Chance by key: what is drawn depends on the seed and the key alone, never on what was drawn before.
//
// Two runs of one world, with a fault and without, thus meet the same noise, however differently they go. A key begins
// with a Topic, so that two uses never share their draws. Immutable; thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_DRAWS_H_
#define LOCKSTEP_SIM_SECOND_DRAWS_H_

#include <cstdint>
#include <initializer_list>

namespace lockstep::second {

enum class Topic : uint64_t {
  kWorld = 1,
  kFault,
  kStaticGpu,
  kPath,
  kComputeNoise,
  kHostNoise,
  kHostStall,
  kLoader,
  kBatchLength,
  kRouting,
  kActiveStep,
  kExitSkew,
  kClock,
  kName,
  kLoss,
  kRowOrder,
  kPause,
};

class Draws {
 public:
  using Key = std::initializer_list<int64_t>;

  explicit Draws(uint64_t seed) : seed_(seed) {}

  // Uniform over all 64-bit values.
  uint64_t Bits(Topic topic, Key key) const;

  // Uniform in [0, 1).
  double Unit(Topic topic, Key key) const;

  // Normal with mean 0 and standard deviation 1.
  double Gaussian(Topic topic, Key key) const;

 private:
  uint64_t seed_;
};

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_DRAWS_H_
