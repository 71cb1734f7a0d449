// What the logs of a shard's jobs are given: where the engine of a job begins, the reports that it looks at, until
// when, and what it concludes, in the order in which the engine has them. From that a job can be judged again
// (warm_up.h).
//
// What agents send again is logged once (logged_reports.h). The appending functions return whether the log has taken
// the entry: if not, the log of the job has a hole, and its engine has to begin anew once the log is healthy.
// Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_JOB_LOG_H_
#define LOCKSTEP_COLLECTOR_JOB_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/ingest/job_slice.h"
#include "collector/input_log.h"
#include "collector/logged_reports.h"
#include "detector/engine/job_engine.h"
#include "detector/model/fleet_sight.h"

namespace lockstep {

class JobLog {
 public:
  // `log` is borrowed for the life of this.
  explicit JobLog(InputLog& log) : log_(log) {}

  bool healthy() const { return log_.healthy(); }
  // How far the logs hold what agents have reported. Of all jobs, watched or not.
  LoggedReports& reports() { return reports_; }

  // The engine begins, for the reason `why`. `warmed_from_ns`: it was given the log from there on; 0 = it was not.
  bool AppendReset(const std::string& job, int64_t wall_ns, const std::string& why, int64_t warmed_from_ns,
                   const JobEngineOptions& options);
  bool AppendSlice(JobSlice slice);
  // The log has that slice already: its report may be complete with it.
  void PassOver(JobSlice slice);
  bool AppendWatermark(const std::string& job, int64_t wall_ns, const FleetSight& fleet);
  bool AppendConclusion(const std::string& job, int64_t wall_ns, bool can_conclude,
                        const std::vector<std::string>& verdicts);

 private:
  InputLog& log_;
  LoggedReports reports_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_JOB_LOG_H_
