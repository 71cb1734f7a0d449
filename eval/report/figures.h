// What many episodes give for one number: a rate, a mean or a spread, each with what says how far it can be trusted.
//
// Pure functions and values; thread-compatible.

#ifndef LOCKSTEP_EVAL_REPORT_FIGURES_H_
#define LOCKSTEP_EVAL_REPORT_FIGURES_H_

#include <cstdint>
#include <vector>

#include "eval/scoring/confidence_interval.h"

namespace lockstep {

struct Rate {
  int64_t successes = 0;
  int64_t trials = 0;

  void Add(bool success) {
    successes += success ? 1 : 0;
    ++trials;
  }
  double share() const { return trials == 0 ? 0 : static_cast<double>(successes) / static_cast<double>(trials); }
  Interval interval() const { return WilsonInterval(successes, trials); }
};

// Median, 95th percentile and largest of something measured per episode.
struct Spread {
  int64_t count = 0;
  double median = 0;
  double p95 = 0;
  double most = 0;
};

Spread SpreadOf(const std::vector<double>& values);

// A mean over episodes or groups of them, with its bootstrap interval.
struct Mean {
  double value = 0;
  Interval interval;
  int64_t count = 0;  // of values
};

// Each group weighs the same, whatever its size.
Mean MeanOf(const std::vector<std::vector<double>>& groups);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_REPORT_FIGURES_H_
