// How far each machine is from all others: the sum of its distances to them, which Minder takes for dissimilarity.
//
// Manhattan: exact in O(n log n) per coordinate, since it separates by coordinate and sums of |x - y| over a sorted
// coordinate are prefix sums. Euclid and Chebyshev: exact in O(n^2) up to kMaxExactMachines; beyond, the distances to
// kReferenceMachines machines drawn from a fixed seed, times the inverse of their share. The relative standard error of
// a sum is then cv * sqrt(1 / kReferenceMachines - 1 / n), cv being the coefficient of variation of that machine's
// distances, and since all machines are measured against the same references, most of it cancels in comparisons. Pure;
// thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_DISTANCE_SUM_H_
#define LOCKSTEP_EVAL_MINDER_DISTANCE_SUM_H_

#include <cstdint>
#include <eigen3/Eigen/Core>

namespace lockstep {

enum class DistanceKind : uint8_t { kEuclid, kManhattan, kChebyshev };

inline constexpr int64_t kMaxExactMachines = 128;
inline constexpr int64_t kReferenceMachines = 64;

// `points`: row = machine, column = coordinate; finite. One sum per machine.
Eigen::ArrayXd DistanceSums(const Eigen::MatrixXf& points, DistanceKind kind);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_DISTANCE_SUM_H_
