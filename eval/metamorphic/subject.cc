#include "eval/metamorphic/subject.h"

#include <algorithm>
#include <utility>

#include "eval/metamorphic/report_comparison.h"

namespace lockstep {

Subject::Subject(JobEvidence recording, const FileJudge& judge)
    : judge_(judge), recording_(std::move(recording)), report_(judge(recording_, kMinCost)) {}

const std::set<std::string>& Subject::named_hosts() {
  LookCloser();
  return *named_hosts_;
}

double Subject::nearly_told_cost() {
  LookCloser();
  return nearly_told_cost_;
}

size_t Subject::nearly_told() {
  LookCloser();
  return nearly_told_;
}

void Subject::LookCloser() {
  if (named_hosts_.has_value()) return;
  const JobReport report = Judge(recording_, kNearlyMinCost);
  named_hosts_ = NamedHosts(report);
  named_hosts_->merge(NamedHosts(report_));
  nearly_told_ = std::max(report.verdicts.size(), report_.verdicts.size());
  for (const Verdict& verdict : report.verdicts) nearly_told_cost_ += verdict.cost.slowdown_fraction;
}

const RecordingReplay& Subject::replay() {
  if (replay_ == nullptr) replay_ = std::make_unique<RecordingReplay>(recording_.trace);
  return *replay_;
}

}  // namespace lockstep
