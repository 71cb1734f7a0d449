#include "collector/profiles/profile_schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "collector/incident/profile_evidence.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

// Classes of verdicts about steps that take longer. In a job that stands still no profile would ever end.
constexpr VerdictClass kSlow[] = {
    VerdictClass::kComputeSlow,     VerdictClass::kHostSlow,          VerdictClass::kCommSlowTx,
    VerdictClass::kCommSlowRx,      VerdictClass::kLinkSlow,          VerdictClass::kGroupSlow,
    VerdictClass::kNvlinkSlow,      VerdictClass::kPcieDegraded,      VerdictClass::kClockThrottled,
    VerdictClass::kStorageStall,    VerdictClass::kSequenceImbalance, VerdictClass::kStageImbalance,
    VerdictClass::kExpertImbalance, VerdictClass::kJobRegression,     VerdictClass::kPause,
    VerdictClass::kDrift,
};

bool IsSlow(const wire::Job& job) {
  return job.state() == Name(JobState::kSlow) || job.state() == Name(JobState::kIrregular);
}

// Whether its job was profiled since it was opened.
bool Remembers(const wire::Incident& incident) {
  const auto& transitions = incident.transitions();
  return std::any_of(transitions.begin(), transitions.end(),
                     [](const auto& transition) { return transition.what() == "profiled"; });
}

// By its scope, or by what it advises: steps that become longer on all ranks are of scope job.
bool BlamesSoftware(const wire::Incident& incident) {
  return incident.verdict().scope() == Name(VerdictScope::kSoftware) ||
         incident.verdict().advice() == Name(Advice::kCheckSoftware);
}

// The larger one is the better reason.
std::pair<bool, double> Weight(const wire::Incident& incident) {
  return {BlamesSoftware(incident), incident.verdict().cost().seconds_per_step()};
}

}  // namespace

bool MayBeProfiled(const wire::Incident& incident) {
  const bool is_slow = std::any_of(std::begin(kSlow), std::end(kSlow), [&](VerdictClass verdict_class) {
    return incident.verdict().class_() == Name(verdict_class);
  });
  return is_slow && incident.state() == wire::Incident::STATE_OPEN && !incident.suspected() &&
         incident.maintenance() == 0;
}

const wire::Incident* MostLikelyProfiled(absl::Span<const wire::Incident> incidents) {
  const auto best = std::max_element(incidents.begin(), incidents.end(),
                                     [](const auto& a, const auto& b) { return Weight(a) < Weight(b); });
  return best == incidents.end() ? nullptr : &*best;
}

bool HasUnexplainedPart(const wire::Job& job) {
  const wire::TimeLedger& ledger = job.ledger();
  const double limit = std::max(kLeastUnexplained * ledger.reference_seconds(), 2 * ledger.error_seconds());
  return ledger.measured_seconds() > 0 && ledger.unexplained_seconds() > limit;
}

void ProfileSchedule::Restore(const std::string& job, int64_t wall_ns) {
  Job& known = jobs_[job];
  known.profiled_ns = std::max(known.profiled_ns.value_or(wall_ns), wall_ns);
  known.unexplained_since_ns = known.profiled_ns;
}

std::optional<ProfileReason> ProfileSchedule::Due(const wire::Job& job, absl::Span<const wire::Incident> incidents,
                                                  int64_t wall_ns) {
  Job& known = jobs_[job.job()];
  const bool is_unexplained = IsSlow(job) && HasUnexplainedPart(job);
  const bool is_explained = job.state() == Name(JobState::kHealthy) || (IsSlow(job) && !is_unexplained);
  if (is_explained) known.unexplained_since_ns.reset();
  if (is_unexplained && !known.unexplained_since_ns.has_value()) known.unexplained_since_ns = wall_ns;
  if (!IsSlow(job) || WasProfiledWithin(known, kEveryNanos, wall_ns)) return std::nullopt;
  const auto counts = [&](int64_t since_ns) {
    const bool is_new = !known.profiled_ns.has_value() || since_ns > *known.profiled_ns;
    return is_new && wall_ns - since_ns >= kSettleNanos;
  };
  const wire::Incident* best = nullptr;
  for (const wire::Incident& incident : incidents) {
    const bool is_due = BlamesSoftware(incident) && counts(incident.opened_wall_ns()) && !Remembers(incident);
    if (!is_due && !RestsOnProfiles(incident)) continue;
    if (best == nullptr || Weight(incident) > Weight(*best)) best = &incident;
  }
  if (best != nullptr) return ProfileReason{best->id(), absl::StrCat("incident ", best->id())};
  if (!is_unexplained || !counts(*known.unexplained_since_ns)) return std::nullopt;
  const wire::Incident* const about = MostLikelyProfiled(incidents);
  return ProfileReason{about == nullptr ? 0 : about->id(), "a part of its time that nothing explains"};
}

void ProfileSchedule::Forget(const std::set<std::string>& jobs, int64_t wall_ns) {
  std::erase_if(jobs_, [&](const auto& entry) {
    return jobs.count(entry.first) == 0 && !WasProfiledWithin(entry.second, kRememberNanos, wall_ns);
  });
}

}  // namespace lockstep
