// Random small simulated jobs as their recorders saw them, and in which phase of the program every record was made.
//
// Same arguments, same bytes. Pure values.

#ifndef LOCKSTEP_TESTS_INTEGRATION_RANDOM_RECORDING_H_
#define LOCKSTEP_TESTS_INTEGRATION_RANDOM_RECORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"
#include "detector/model/trace.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"
#include "sim/world.h"

namespace lockstep {

struct SimulatedRecording {
  JobSpec job;
  bool has_world = true;  // the operations of all ranks together are recorded
  std::vector<Phase> phases;
  Trace trace;
  std::vector<int32_t> phase_of;  // by Trace::operations: into phases

  std::string Describe() const;
};

// A job of up to 96 ranks, cut in any way, with breaks, lost records and gaps, each in a part of the jobs.
JobSpec RandomSmallJob(Random& random);

// `has_world` false: a program that does nothing with all of its ranks together, so that only smaller groups connect
// them.
SimulatedRecording RecordJob(const JobSpec& job, absl::Span<const FaultSpec> faults, bool has_world, uint64_t seed);

}  // namespace lockstep

#endif  // LOCKSTEP_TESTS_INTEGRATION_RANDOM_RECORDING_H_
