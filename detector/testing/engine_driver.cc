#include "detector/testing/engine_driver.h"

#include <utility>

namespace lockstep {

void EngineDriver::Deliver(HostReport report) {
  std::vector<PullRequest> left;
  for (PullRequest& pull : asked_) {
    if (pull.host == report.host) {
      report.answers.push_back(archive_.Answer(pull, report.host_ns));
    } else {
      left.push_back(std::move(pull));
    }
  }
  asked_ = std::move(left);
  engine_.Observe(report);
}

JobEngine::Conclusion EngineDriver::Evaluate(int64_t watermark_ns) {
  JobEngine::Conclusion conclusion = engine_.Evaluate(watermark_ns);
  asked_.insert(asked_.end(), conclusion.requests.begin(), conclusion.requests.end());
  return conclusion;
}

JobEngine::Conclusion EngineDriver::Hear(const std::vector<HostReport>& reports, int64_t watermark_ns) {
  for (const HostReport& report : reports) {
    Record(report);
    Deliver(report);
  }
  return Evaluate(watermark_ns);
}

}  // namespace lockstep
