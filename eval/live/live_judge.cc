#include "eval/live/live_judge.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "detector/engine/diagnosis.h"
#include "detector/engine/job_engine.h"
#include "detector/verdict/verdict.h"
#include "eval/live/delivery_spec.h"
#include "eval/live/live_engine.h"
#include "eval/live/live_job.h"
#include "eval/live/live_player.h"
#include "eval/live/live_score.h"

namespace lockstep {
namespace {

constexpr uint64_t kSeed = 1;  // of the hosts' clocks and the delays: the same for every recording
constexpr DeliverySpec kDelivery = {.latency_seconds = 0.02};

std::set<std::string> AccusedBy(const Verdict& verdict) {
  std::set<std::string> hosts;
  for (const Culprit& culprit : verdict.culprits) hosts.insert(culprit.host);
  return hosts;
}

// Whether `newer` is a later word about what `old` said.
bool Supersedes(const Verdict& newer, const Verdict& old) {
  const std::set<std::string> before = AccusedBy(old);
  if (before.empty()) return newer.culprits.empty() && newer.verdict_class == old.verdict_class;
  const std::set<std::string> after = AccusedBy(newer);
  return std::includes(after.begin(), after.end(), before.begin(), before.end());
}

}  // namespace

JobReport EverTold(const ConclusionTimeline& timeline, JobReport last) {
  for (auto spell = timeline.spells().rbegin(); spell != timeline.spells().rend(); ++spell) {
    const Verdict& told = spell->newest;
    const bool known = std::any_of(last.verdicts.begin(), last.verdicts.end(),
                                   [&told](const Verdict& newer) { return Supersedes(newer, told); });
    if (!known) last.verdicts.push_back(told);
  }
  return last;
}

absl::StatusOr<JobReport> JudgeLive(const JobEvidence& evidence, const JobEngineOptions& options,
                                    ConclusionTimeline* timeline) {
  const JobReport of_file = Diagnose(evidence, {});
  ASSIGN_OR_RETURN(const LiveJob job, LiveJobOf(evidence, of_file.state == JobState::kHung, kSeed));
  const std::unique_ptr<LiveEngine> engine = CollectorEngine(options)();
  ConclusionTimeline own;
  ConclusionTimeline& told = timeline != nullptr ? *timeline : own;
  JobReport last;
  std::map<std::string, Verdict> remarks;  // the newest of each
  const LivePlay play = PlayJob(
      job, kDelivery, kSeed, *engine, [] { return int64_t{0}; },
      [&](const LiveLook& look) {
        told.Add(look.now_ns, look.conclusion, look.summary);
        for (const Verdict& remark : look.conclusion.remarks) remarks.insert_or_assign(CauseKey(remark), remark);
        last = ReportOf(look.conclusion, look.summary);
      });
  if (!play.refused.ok()) {
    return absl::DataLossError(absl::StrCat("a collector would not take it: ", play.refused.message()));
  }
  JobReport report = EverTold(told, std::move(last));
  for (const auto& remark : remarks) {
    const bool is_told = std::any_of(report.verdicts.begin(), report.verdicts.end(),
                                     [&remark](const Verdict& verdict) { return CauseKey(verdict) == remark.first; });
    if (!is_told) report.verdicts.push_back(remark.second);
  }
  report.job = of_file.job;
  report.ranks = of_file.ranks;
  report.hosts = of_file.hosts;
  report.completeness = of_file.completeness;
  return report;
}

}  // namespace lockstep
