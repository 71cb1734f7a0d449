// A slow wave between -1 and 1: a triangle, which needs no libm, so that all machines make the same bytes of it.
// Immutable; thread-safe.

#ifndef LOCKSTEP_SIM_COUNTERS_TRIANGLE_WAVE_H_
#define LOCKSTEP_SIM_COUNTERS_TRIANGLE_WAVE_H_

#include <cstdint>

namespace lockstep {

template <int64_t kPeriodMs>
class TriangleWave {
 public:
  // `phase`: as a share of the period.
  explicit TriangleWave(double phase) : shift_ms_(static_cast<int64_t>(phase * static_cast<double>(kPeriodMs))) {}

  // -1 at the begin of a period, 1 in its middle. `ms` from 0.
  double At(int64_t ms) const {
    const double turn = static_cast<double>((ms + shift_ms_) % kPeriodMs) / static_cast<double>(kPeriodMs);
    return turn < 0.5 ? 4 * turn - 1 : 3 - 4 * turn;
  }

 private:
  const int64_t shift_ms_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_COUNTERS_TRIANGLE_WAVE_H_
