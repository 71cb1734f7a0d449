// What a job as a whole does, as far as its counters must be compared with others of the same: told by job_activity.h,
// used by whoever learns what is usual.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_JOB_REGIME_H_
#define LOCKSTEP_DETECTOR_COUNTERS_JOB_REGIME_H_

namespace lockstep {

// Indices.
inline constexpr int kJobWorks = 0;
inline constexpr int kJobStands = 1;  // and its GPUs idle
inline constexpr int kJobHangs = 2;   // stands with busy GPUs

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_JOB_REGIME_H_
