// How far units usually lie apart in what they did lately, and by how much they do so now beyond that.
//
// After a change of the load all units have moved, each by a little more or less than the others, and stay there for as
// long as their places are learnt. No single one tells, but that all lie further apart than usual does.
//
// A scatter that is known from n units is wrong by a share of about 1 / root of n; kErrors of those are chance, since
// it is looked at in every tick. Of fewer than kFewestUnits nothing can be told so, nor while it is learnt. O(1),
// 8 bytes. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_USUAL_SCATTER_H_
#define LOCKSTEP_DETECTOR_COUNTERS_USUAL_SCATTER_H_

#include <algorithm>
#include <cmath>

namespace lockstep {

class UsualScatter {
 public:
  // 3e-7 of a normal: looked at once a second, once in 40 days.
  static constexpr double kErrors = 5;
  // Of fewer, five errors are as much as the scatter itself.
  static constexpr int kFewestUnits = 32;

  // What units scatter by more than usual: 0 = they do not. `weight`: of this scatter in what is usual, 0 to 1.
  // `known`: whether that was learnt. What is beyond the usual makes it larger by no more than what chance could.
  double Beyond(double scatter, int units, double weight, bool known) {
    const double most = usual_ * (1 + kErrors / std::sqrt(static_cast<double>(units)));
    usual_ += weight * ((known ? std::min(scatter, most) : scatter) - usual_);
    const bool beyond = known && units >= kFewestUnits && scatter > most;
    return beyond ? std::sqrt(scatter * scatter - most * most) : 0;
  }

 private:
  double usual_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_USUAL_SCATTER_H_
