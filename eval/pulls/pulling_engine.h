// The engine as the collector runs it on jobs that reports do not explain: it sees only what it asks agents for, within
// its budget, and every byte of their answers is counted.
//
// The recording is seen by simulated agents (sim/capture/trace_agents.h); the close look asks them, until two rounds
// agree or kRounds are over. Rounds look at the recording as it was when ever more of it had been made, the last at all
// of it. Not thread-safe.

#ifndef LOCKSTEP_EVAL_PULLS_PULLING_ENGINE_H_
#define LOCKSTEP_EVAL_PULLS_PULLING_ENGINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/engine/investigation.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"

namespace lockstep {

struct PullCounts {
  uint64_t bytes = 0;     // of all answers
  uint64_t requests = 0;  // one per host and part of a round
  uint64_t left_out = 0;  // operations that did not fit into answers
  uint64_t rounds = 0;
  std::vector<std::string> reached;  // hosts that were asked in the last part of the last round
};

class PullingEngine {
 public:
  static constexpr int kRounds = 2;

  explicit PullingEngine(const InvestigationOptions& options) : options_(options) {}

  // What the rounds agree on. `step_seconds`: of the job, as its reports tell.
  JobReport Diagnose(const JobEvidence& evidence, double step_seconds);

  // Of the newest diagnosis.
  const PullCounts& counts() const { return counts_; }

 private:
  InvestigationOptions options_;
  PullCounts counts_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_PULLS_PULLING_ENGINE_H_
