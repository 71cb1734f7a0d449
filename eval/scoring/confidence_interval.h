// How far a rate or a mean of an evaluation can be trusted: 95 % intervals.
//
// Rates of independent episodes: Wilson's score interval (Wilson 1927), which stays inside 0 to 1 and says something
// even when every episode succeeded. Means over unequal groups (macro accuracy, recall over several culprits of one
// episode): percentile bootstrap (Efron 1979) that draws whole episodes within each group. Both know only the chance
// in the draw of episodes; how far the simulator is from reality is not in them. Pure functions.

#ifndef LOCKSTEP_EVAL_SCORING_CONFIDENCE_INTERVAL_H_
#define LOCKSTEP_EVAL_SCORING_CONFIDENCE_INTERVAL_H_

#include <cstdint>
#include <vector>

namespace lockstep {

struct Interval {
  double low = 0;
  double high = 1;
};

// 0 trials: [0, 1].
Interval WilsonInterval(int64_t successes, int64_t trials);

// One-sided 95 % bound of the expectation of a Poisson count (Wilson and Hilferty's approximation): about 3 for a count
// of 0.
double PoissonUpperBound(int64_t count);

// The mean of the means of the groups; groups without values are left out. 0 without any value.
double MeanOfGroupMeans(const std::vector<std::vector<double>>& groups);

// Its interval from 1,000 resamples with a fixed seed: equal input, equal interval. Groups of one value have no spread
// of their own: give several. [0, 1] without any value.
Interval BootstrapInterval(const std::vector<std::vector<double>>& groups);

// Nearest-rank percentile, `share` in [0, 1]; 0 for no values.
double Percentile(std::vector<double> values, double share);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_SCORING_CONFIDENCE_INTERVAL_H_
