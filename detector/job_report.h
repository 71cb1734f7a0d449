// Everything that a diagnosis says about one job: the `jobs[]` entry of `lockstep diagnose -o json`.
//
// Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_JOB_REPORT_H_
#define LOCKSTEP_DETECTOR_JOB_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/verdict.h"

namespace lockstep {

struct Completeness {
  uint64_t records = 0;
  std::vector<int32_t> missing_ranks;
  uint64_t lost_records = 0;
};

struct JobReport {
  std::string job;
  int32_t ranks = 0;
  int32_t hosts = 0;
  int64_t steps = 0;
  double step_seconds_median = 0;  // 0 = unknown
  Completeness completeness;
  JobState state = JobState::kUnknown;
  std::vector<Verdict> verdicts;  // the costliest first
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_JOB_REPORT_H_
