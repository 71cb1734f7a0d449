#include "base/random.h"

#include <cmath>
#include <random>

namespace lockstep {

uint64_t Random::Next() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t Random::Below(uint64_t bound) {
  // Multiply-shift keeps the bias under bound / 2^64, far below what any use of ours could notice.
  return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
}

double Random::Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

double Random::Gaussian() {
  // Box-Muller with the second variate thrown away: no hidden state to copy.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Unit()));
  return radius * std::cos(2.0 * M_PI * Unit());
}

uint64_t SeedFromSystem() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace lockstep
