// The simplest jobs: ranks of a host each, all in one communicator. Pure values.

#ifndef LOCKSTEP_DETECTOR_TESTING_MEETING_JOB_H_
#define LOCKSTEP_DETECTOR_TESTING_MEETING_JOB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/model/trace.h"
#include "detector/model/trace_builder.h"

namespace lockstep {

struct MeetingWorld {
  int32_t communicator = -1;
  std::vector<int32_t> handles;  // of the builder, by rank
};

// Hosts are called h0, h1, ...
MeetingWorld AddWorld(int32_t ranks, const std::string& name, TraceBuilder* builder);

struct MeetingJob {
  int32_t ranks = 16;
  int32_t steps = 40;
  int32_t blind_rank = -1;  // of whom nothing is known but when it handed an operation over, and when that was over
};

// All meet once in each step, in an AllReduce of 5 ms, after `work_ms` of a rank and step, give or take half a per
// cent. Hosts are a step ahead of their GPUs.
Trace TraceOf(const MeetingJob& job, absl::FunctionRef<double(int32_t rank, int32_t step)> work_ms);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_MEETING_JOB_H_
