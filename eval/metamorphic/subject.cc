#include "eval/metamorphic/subject.h"

#include <utility>

#include "eval/metamorphic/report_comparison.h"

namespace lockstep {

Subject::Subject(JobEvidence recording, const FileJudge& judge)
    : judge_(judge), recording_(std::move(recording)), report_(judge(recording_, kMinCost)) {}

const std::set<std::string>& Subject::named_hosts() {
  if (!named_hosts_.has_value()) {
    named_hosts_ = NamedHosts(Judge(recording_, kNearlyMinCost));
    named_hosts_->merge(NamedHosts(report_));
  }
  return *named_hosts_;
}

const RecordingReplay& Subject::replay() {
  if (replay_ == nullptr) replay_ = std::make_unique<RecordingReplay>(recording_.trace);
  return *replay_;
}

}  // namespace lockstep
