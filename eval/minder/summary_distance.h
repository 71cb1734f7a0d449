// The baseline that Minder is compared with: the Mahalanobis distance of summary features, without denoising.
//
// A window of a machine becomes mean, variance, skewness and kurtosis; a machine's dissimilarity is its Mahalanobis
// distance (1936) from the centre of all machines. The covariance gets kRidge of its mean diagonal added to each
// diagonal element, since few machines or equal features leave it singular. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_SUMMARY_DISTANCE_H_
#define LOCKSTEP_EVAL_MINDER_SUMMARY_DISTANCE_H_

#include <eigen3/Eigen/Core>

namespace lockstep {

inline constexpr double kRidge = 1e-3;

// `windows`: row = machine, column = sample; finite. One distance per machine.
Eigen::ArrayXd SummaryDistances(const Eigen::MatrixXf& windows);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_SUMMARY_DISTANCE_H_
