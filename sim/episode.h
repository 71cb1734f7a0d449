// One simulated run of a job, as the recorders and agents would have seen it, with the truth beside it.
//
// Simulate replays the dependency graph of the job: every rank's compute, launch and communication streams, every
// collective from the last entry of its members on. The same randomness is replayed without each fault, so that the
// cost in the truth is a difference of two runs of the same world and not an estimate. Same arguments, same bytes.
// Pure values; thread-compatible.

#ifndef LOCKSTEP_SIM_EPISODE_H_
#define LOCKSTEP_SIM_EPISODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/verdict.h"
#include "sim/fault_spec.h"
#include "sim/job_spec.h"

namespace lockstep {

// One injected cause and the right answer to it.
struct TrueCause {
  FaultKind kind = FaultKind::kComputeSlow;
  VerdictScope scope = VerdictScope::kUnknown;
  VerdictClass verdict_class = VerdictClass::kComputeSlow;
  std::vector<VerdictClass> acceptable;  // classes that are right as well, given what the evidence can tell apart
  std::vector<Culprit> culprits;         // exact; empty when nobody is to blame. Confidence is 1.
  // When operation records alone cannot tell the culprits from their group: the hosts of that group. An answer that
  // lists them (culprits among them) under group_slow or link_slow is right. Empty = the culprits can be told.
  std::vector<std::string> indistinguishable_hosts;
  int32_t first_step = -1;
  int32_t last_step = -1;
  int64_t onset_ns = 0;  // in true time since the start of the job
  // This cause alone against none of them, over its steps. Zero for hangs. Two causes may hide behind one another:
  Cost cost;
  Cost marginal_cost;  // removing this one while the others stay; equal to `cost` when there is one cause
};

struct Truth {
  JobState state = JobState::kHealthy;  // hung, slow, irregular or healthy
  std::vector<TrueCause> causes;
  bool is_negative = true;               // no machine and no link is to blame: any accusation is a false one
  int64_t hang_ns = 0;                   // true time at which the first operation got stuck; 0 = no hang
  std::vector<int64_t> step_ns;          // length of every finished step, evaluation and checkpoints not counted
  std::vector<int64_t> healthy_step_ns;  // the same without any of the causes
};

struct Episode {
  JobEvidence evidence;  // trace, counters, kernel events
  Truth truth;
};

// `job` and `faults` must be valid (Validate). Memory: about 60 bytes per record.
Episode Simulate(const JobSpec& job, absl::Span<const FaultSpec> faults, uint64_t seed);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_EPISODE_H_
