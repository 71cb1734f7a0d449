// Which functions behave differently, on whom, and what that means: some workers against their peers, and all of them
// against what is expected.
//
// EROICA's rule (arXiv 2506.08528), with our own distances: a function is abnormal on a worker when it takes more than
// 1 % of the window (beta) and either D > 0 or Delta > median + 5 MAD.
//   - D: what its group takes beyond the expected range (function_group.h). It finds what is wrong on all workers.
//   - Delta: the distance of its beta, mu and sigma from the medians of workers of equal duty, each in units of the
//     peers' own scatter. It finds what is wrong on some. Where no counter gives mu and sigma, duration and spread
//     stand in for them.
// Of these, only what costs counts: beta above what is expected (D) or above that of the peers (Delta) by
// `least_excess`, and by three times that of other work of the host. The paper asks for D > 0 alone. Expected ranges
// are round numbers, so that healthy jobs lie just above one; a finding accuses software, so it has to cost something.
// Delta has to be beyond what chance gives so many workers and functions too, and clearly more than on those who are
// not named. Waiting in communication is a cause only where nothing else explains it. Groups of functions that are one
// thing are one finding.
//
// O(functions * workers), about 24 bytes of working memory per worker. Pure.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_PATTERN_COMPARISON_H_
#define LOCKSTEP_DETECTOR_PATTERNS_PATTERN_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/patterns/function_group.h"
#include "detector/patterns/pattern_fleet.h"

namespace lockstep {

inline constexpr size_t kMostNamedFunctions = 5;  // of a finding

struct ComparisonOptions {
  double least_beta = 0.01;
  double least_excess = 0.03;  // share of the window, as `lockstep diagnose --min-cost`
  double mads = 5;
  bool judges_all = true;   // D
  bool judges_some = true;  // Delta
};

// One function of a finding. Those who are named, as a median; and their peers (of all: what is expected).
struct FunctionExcess {
  int32_t function = -1;  // of the fleet
  double beta = 0;
  double usual_beta = 0;
  double mean_seconds = 0;
  double usual_mean_seconds = 0;  // 0 = not known
  double calls_per_second = 0;
  double usual_calls_per_second = 0;
  double spread = 0;
  double mu = 0;
  double usual_mu = 0;
};

struct PatternFinding {
  PatternClass pattern_class = PatternClass::kHostWork;
  bool of_all = false;                    // all workers of a duty: software or configuration
  std::vector<uint32_t> workers;          // of the fleet
  uint32_t peers = 0;                     // of equal duty, those named included
  double beta = 0;                        // of the group or function, median of the workers
  double usual_beta = 0;                  // of the peers; of all: the most that is expected
  double distance = 0;                    // Delta, the least of the workers; of all: D
  double threshold = 0;                   // of Delta
  std::vector<FunctionExcess> functions;  // by what they take beyond usual, the most first

  double excess() const { return beta - usual_beta; }
};

struct PatternReport {
  std::vector<PatternFinding> findings;  // the costliest first
  size_t duties = 0;
  uint32_t largest_duty = 0;  // workers
  double idle = 0;            // median share of the window in which nothing ran
};

PatternReport ComparePatterns(const PatternFleet& fleet, const ComparisonOptions& options = {});

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_PATTERN_COMPARISON_H_
