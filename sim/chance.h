// Chance without a sequence: every draw is a function of the seed and of what it is drawn for.
//
// A generator with state would shift all later draws when one event is taken out of the run. Here a run without a fault
// sees the very noise of the run with it, so that the difference of the two is the fault's effect and nothing else.
// Only integer arithmetic and multiplication, no libm: the same values on every machine. Pure; thread-safe.

#ifndef LOCKSTEP_SIM_CHANCE_H_
#define LOCKSTEP_SIM_CHANCE_H_

#include <cstdint>

namespace lockstep {

// What a draw is for; draws of different purposes are independent.
enum class ChanceUse : uint32_t {
  kBinning,
  kCompute,
  kTransfer,
  kExitSkew,
  kStep,
  kSequence,
  kExpert,
  kHiccup,
  kInput,
  kPause,
  kClock,
  kLoss,
  kGap,
  kFault,
  kCounter,
};

// SplitMix64's finalizer (Steele, Lea, Flood 2014).
inline uint64_t MixBits(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// One family of draws, such as "compute of instruction 7 in step 3"; At(i) is its i-th member, such as a rank's.
class Chance {
 public:
  Chance(uint64_t seed, ChanceUse use, uint64_t first = 0, uint64_t second = 0)
      : key_(MixBits(MixBits(MixBits(seed ^ (static_cast<uint64_t>(use) << 56)) + first) + second)) {}

  uint64_t At(uint64_t index) const { return MixBits(key_ ^ (index * 0xD1342543DE82EF95u)); }

  // Uniform in [0, 1).
  double Unit(uint64_t index) const { return UnitOf(At(index)); }

  static double UnitOf(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

  // Mean 0, standard deviation 1, bell-shaped, within +-3: the sum of three uniforms (Irwin-Hall) from the low 48 bits.
  static double BellOf(uint64_t bits) {
    const uint64_t sum = (bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF);
    return (static_cast<double>(sum) * (1.0 / 65536) - 1.5) * 2;
  }

  // True for `share` of all bits, by the 16 that BellOf leaves.
  static bool HitOf(uint64_t bits, double share) { return static_cast<double>(bits >> 48) < share * 65536; }

  // Mean 1, at most 3, mostly small: how hard somebody was hit.
  static double BlowOf(uint64_t bits) {
    const double unit = UnitOf(MixBits(bits));
    return 3 * unit * unit;
  }

 private:
  uint64_t key_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CHANCE_H_
