#include "sim/second/draws.h"

#include <cmath>

#include "base/random.h"

namespace lockstep::second {
namespace {

constexpr double kUnit = 0x1.0p-53;

uint64_t Mix(uint64_t state, uint64_t word) { return Random(state ^ (word * 0xD6E8FEB86659FD93u)).Next(); }

}  // namespace

uint64_t Draws::Bits(Topic topic, Key key) const {
  uint64_t state = Mix(seed_, static_cast<uint64_t>(topic));
  for (const int64_t part : key) state = Mix(state, static_cast<uint64_t>(part) + 1);
  return state;
}

double Draws::Unit(Topic topic, Key key) const { return static_cast<double>(Bits(topic, key) >> 11) * kUnit; }

double Draws::Gaussian(Topic topic, Key key) const {
  Random both(Bits(topic, key));
  return both.Gaussian();
}

}  // namespace lockstep::second
