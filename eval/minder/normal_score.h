// From one dissimilarity per machine to the machine that stands out, if one does.
//
// The normal score is the number of standard deviations above the mean over machines. It cannot exceed sqrt(n - 1), so
// that the threshold is lowered for small jobs to a share of that. The paper states neither score nor threshold: both
// are ours. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_MINDER_NORMAL_SCORE_H_
#define LOCKSTEP_EVAL_MINDER_NORMAL_SCORE_H_

#include <cstdint>
#include <eigen3/Eigen/Core>

namespace lockstep {

inline constexpr int64_t kNoMachine = -1;
inline constexpr int64_t kMinMinderMachines = 3;  // of two, neither is the odd one

struct SimilarityThreshold {
  double deviations = 3.0;     // standard deviations
  double share_of_most = 0.9;  // of sqrt(n - 1)
};

struct Candidate {
  int64_t machine = kNoMachine;
  double score = 0;
};

// (x - mean) / standard deviation over machines; all zero when the deviation is zero or not finite.
Eigen::ArrayXd NormalScores(const Eigen::ArrayXd& dissimilarity);

// The machine of the greatest normal score, the first of equal ones, if it exceeds the threshold.
Candidate FindCandidate(const Eigen::ArrayXd& dissimilarity, const SimilarityThreshold& threshold);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_NORMAL_SCORE_H_
