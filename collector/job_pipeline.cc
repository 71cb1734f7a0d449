#include "collector/job_pipeline.h"

#include <utility>

#include "detector/verdict/verdict.h"

namespace lockstep {

JobPipeline::JobPipeline(const JobEngineOptions& options) { Reset(options); }

void JobPipeline::Reset(const JobEngineOptions& options) {
  engine_ = std::make_unique<JobEngine>(options);
  last_lines_.clear();
  last_can_conclude_ = false;
  resumed_ = false;
}

void JobPipeline::Resume(int64_t watermark_ns) {
  engine_->Resume(watermark_ns);
  resumed_ = true;
}

void JobPipeline::Observe(const HostReport& report) { engine_->Observe(report); }

void JobPipeline::ObservePlaces(const std::string& host, const Places& places) { engine_->ObservePlaces(host, places); }

JobPipeline::Outcome JobPipeline::Evaluate(int64_t watermark_ns, const FleetSight& fleet) {
  Outcome outcome;
  outcome.conclusion = engine_->Evaluate(watermark_ns, fleet);
  for (const Verdict& verdict : outcome.conclusion.verdicts) outcome.lines.push_back(ToJsonLine(verdict));
  for (const Verdict& remark : outcome.conclusion.remarks) outcome.lines.push_back(ToJsonLine(remark));
  outcome.changed = std::exchange(resumed_, false) || outcome.conclusion.can_conclude != last_can_conclude_ ||
                    outcome.lines != last_lines_;
  last_can_conclude_ = outcome.conclusion.can_conclude;
  last_lines_ = outcome.lines;
  return outcome;
}

}  // namespace lockstep
