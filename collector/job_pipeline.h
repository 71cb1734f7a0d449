// One job from reports to conclusions: the engine, and when its conclusion counts as changed. Shared by the live
// collector and by replay, so that both take the same steps.
//
// No clock, thread or I/O: the same calls give the same outcomes, byte for byte. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_JOB_PIPELINE_H_
#define LOCKSTEP_COLLECTOR_JOB_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "detector/engine/job_engine.h"
#include "detector/model/fleet_sight.h"
#include "detector/model/input.h"
#include "detector/model/place_table.h"

namespace lockstep {

class JobPipeline {
 public:
  // What held at one watermark.
  struct Outcome {
    JobEngine::Conclusion conclusion;
    std::vector<std::string> lines;  // the verdicts as JSON, by cause
    bool changed = false;            // differs from the outcome before; a new engine begins with "cannot conclude"
  };

  explicit JobPipeline(const JobEngineOptions& options);

  // Forgets everything, as after a restart, and judges by `options` from here on.
  void Reset(const JobEngineOptions& options);

  // `report.received_ns` must not decrease and must not exceed the next watermark.
  void Observe(const HostReport& report);
  // Where the host of a report stands; before that report.
  void ObservePlaces(const std::string& host, const Places& places);

  // Everything received before `watermark_ns` must have been observed. `fleet` as for the engine.
  Outcome Evaluate(int64_t watermark_ns, const FleetSight& fleet);

  // After a warm-up (warm_up.h): nobody listened until `watermark_ns`. The next outcome counts as changed.
  void Resume(int64_t watermark_ns);

  JobSummary summary() const { return engine_->summary(); }
  std::vector<RankSummary> ranks() const { return engine_->ranks(); }
  const SeenLedger& ledger() const { return engine_->ledger(); }

 private:
  std::unique_ptr<JobEngine> engine_;
  std::vector<std::string> last_lines_;
  bool last_can_conclude_ = false;
  bool resumed_ = false;  // since the last outcome
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_JOB_PIPELINE_H_
