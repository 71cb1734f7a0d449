#include "detector/investigation/close_look.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "detector/wording.h"

namespace lockstep {
namespace {

bool Accuses(const Verdict& verdict) {
  return verdict.scope == VerdictScope::kMachine || verdict.scope == VerdictScope::kNetwork;
}

}  // namespace

void CloseLook::Observe(const HostReport& report) {
  investigation_.Observe(report);
  watch_.Observe(report);
}

bool CloseLook::accuses() const { return std::any_of(told_.begin(), told_.end(), Accuses); }

WatchNeed CloseLook::NeedOf(const JobView& job, bool wanted) const {
  WatchNeed need;
  const std::vector<Verdict>& found = investigation_.candidates();
  const bool leaves_network = std::none_of(found.begin(), found.end(), [](const Verdict& verdict) {
    return verdict.scope == VerdictScope::kMachine || verdict.scope == VerdictScope::kSoftware;
  });
  need.wanted = wanted && leaves_network && investigation_.looked() && (level_.slower() || job.irregular);
  if (!need.wanted) return need;
  const std::string why = level_.slower() ? absl::StrCat("Steps take ", Duration(job.recent_step_seconds), ", usually ",
                                                         Duration(level_.usual_seconds()))
                                          : "Step times vary";
  const bool points_there = std::any_of(found.begin(), found.end(),
                                        [](const Verdict& verdict) { return verdict.scope == VerdictScope::kNetwork; });
  need.reason = absl::StrCat(
      why, points_there ? ", and operations point to the network." : ", and no rank's own time explains it.");
  std::set<std::string> hosts;
  for (const Verdict& verdict : found) {
    if (verdict.scope != VerdictScope::kNetwork) continue;
    for (const Culprit& culprit : verdict.culprits) hosts.insert({culprit.host, culprit.peer_host});
  }
  hosts.erase("");
  need.hosts.assign(hosts.begin(), hosts.end());
  return need;
}

Wishes CloseLook::Advance(const Roster& roster, int64_t watermark_ns, const JobView& job) {
  if (job.recent_step_seconds > 0 && !job.culprit_known) {
    level_.Observe(watermark_ns, job.recent_step_seconds, job.operations_per_step, accuses());
  }
  const bool wanted = !job.explained || (!job.culprit_known && level_.slower());
  Wishes wishes;
  wishes.pulls = investigation_.Advance(roster, watermark_ns, wanted, job.median_step_seconds);
  wishes.watches = watch_.Advance(roster, watermark_ns, NeedOf(job, wanted));
  if (!wanted) watch_.Forget();
  told_ = investigation_.verdicts();
  if (watch_.result().has_value()) {
    const StepImpact impact = {.step_seconds = job.recent_step_seconds, .lost_seconds = level_.lost_seconds()};
    std::vector<Verdict> of_transfers = TransferVerdicts(roster, *watch_.result(), impact);
    for (Verdict& verdict : of_transfers) verdict.last_seen_ns = watermark_ns;
    MergeTransferVerdicts(*watch_.result(), std::move(of_transfers), min_cost_, &told_);
  }
  return wishes;
}

void CloseLook::Clear() {
  level_.Clear();
  investigation_.Clear();
  watch_.Clear();
  told_.clear();
}

}  // namespace lockstep
