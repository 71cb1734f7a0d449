// Whether the engine says live what it says about the same episode as a file. Pure functions and values.
//
// Compared is what blames or explains: verdicts that abstain are left out on both sides. Hang classes and slow classes
// must be equal, culprits must be equal as sets, and costs within kCostTolerance of the larger one, or within
// kCostFloor of each other.

#ifndef LOCKSTEP_EVAL_LIVE_PARITY_H_
#define LOCKSTEP_EVAL_LIVE_PARITY_H_

#include <string>

#include "detector/verdict/job_report.h"

namespace lockstep {

inline constexpr double kCostTolerance = 0.10;
inline constexpr double kCostFloor = 0.005;  // of the step time: below what anybody is accused for

struct Parity {
  bool agrees = true;
  std::string difference;  // the first, for people
};

Parity CompareReports(const JobReport& live, const JobReport& file);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_PARITY_H_
