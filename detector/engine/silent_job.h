// A job that no host reports of any more, while the rest of the fleet does.
//
// The job itself cannot tell a machine that is gone from a collector that hears nobody: the fleet can. Once it has gone
// on for three times `host_silent_ns` without the job, each host with a rank that had not ended is named. That is an
// observation and accuses no machine: where nobody else of the job reports, an agent that was stopped looks the same.
// A fleet of which more hosts fell silent than go on, or that comes back together with the job, names nobody.
//
// Deterministic; not thread-safe. Memory: two numbers.

#ifndef LOCKSTEP_DETECTOR_ENGINE_SILENT_JOB_H_
#define LOCKSTEP_DETECTOR_ENGINE_SILENT_JOB_H_

#include <cstdint>
#include <vector>

#include "detector/hardware/evidence_log.h"
#include "detector/model/fleet_sight.h"
#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

class SilentJob {
 public:
  struct Context {
    int64_t watermark_ns = 0;  // must not decrease
    FleetSight fleet;
    int64_t host_silent_ns = 0;
    int64_t step = -1;  // newest completed; goes into verdicts
  };

  // Somebody reports of the job, or nobody listened until now.
  void Clear() { *this = {}; }

  // To be called at each look at which no host of the job reports. By cause key.
  std::vector<Verdict> Judge(const Roster& roster, const EvidenceLog& log, const Context& context);

 private:
  int64_t looked_ns_ = 0;         // newest look; 0 = none
  int64_t goes_on_since_ns_ = 0;  // the fleet, at every look; 0 = it does not
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_SILENT_JOB_H_
