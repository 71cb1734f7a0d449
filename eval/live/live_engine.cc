#include "eval/live/live_engine.h"

#include "collector/job_pipeline.h"
#include "detector/model/fleet_sight.h"

namespace lockstep {
namespace {

class PipelineEngine final : public LiveEngine {
 public:
  explicit PipelineEngine(const JobEngineOptions& options) : pipeline_(options) {}

  void ObservePlaces(const std::string& host, const Places& places) override { pipeline_.ObservePlaces(host, places); }
  void Observe(const HostReport& report) override { pipeline_.Observe(report); }
  JobEngine::Conclusion Evaluate(int64_t watermark_ns) override {
    return pipeline_.Evaluate(watermark_ns, FleetSight()).conclusion;  // an episode is all of its fleet
  }
  JobSummary summary() const override { return pipeline_.summary(); }

 private:
  JobPipeline pipeline_;
};

}  // namespace

LiveEngineFactory CollectorEngine(const JobEngineOptions& options) {
  return [options]() -> std::unique_ptr<LiveEngine> { return std::make_unique<PipelineEngine>(options); };
}

}  // namespace lockstep
