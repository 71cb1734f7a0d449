// An engine and the agents that answer its pulls, for tests: what it asks for comes with the next reports.
//
// Deterministic. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_TESTING_ENGINE_DRIVER_H_
#define LOCKSTEP_DETECTOR_TESTING_ENGINE_DRIVER_H_

#include <cstdint>
#include <vector>

#include "detector/engine/job_engine.h"
#include "detector/model/input.h"
#include "detector/testing/pull_archive.h"

namespace lockstep {

class EngineDriver {
 public:
  explicit EngineDriver(const JobEngineOptions& options) : engine_(options) {}

  // What an agent has read, also when the engine never hears of it.
  void Record(const HostReport& report) { archive_.Add(report); }
  // The engine hears a report, with the answers of its host.
  void Deliver(HostReport report);
  JobEngine::Conclusion Evaluate(int64_t watermark_ns);

  // Records and delivers all, then evaluates.
  JobEngine::Conclusion Hear(const std::vector<HostReport>& reports, int64_t watermark_ns);

  const JobEngine& engine() const { return engine_; }

 private:
  JobEngine engine_;
  PullArchive archive_;
  std::vector<PullRequest> asked_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_ENGINE_DRIVER_H_
