#include "collector/profiles/self_profiles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "collector/demands/demand_targets.h"
#include "collector/demands/profile_length.h"
#include "collector/demands/suspect_ranks.h"
#include "collector/incident/profile_evidence.h"
#include "proto/admin.pb.h"
#include "proto/patterns.pb.h"

namespace lockstep {
namespace {

constexpr char kKind[] = "profile";
constexpr char kBy[] = "the collector";

// With functions of Python: what the reasons leave open is mostly theirs (docs/detection.md says which classes).
std::string ParametersOf(const wire::Job& job) {
  wire::ProfileParameters parameters;
  parameters.set_python(true);
  parameters.set_steps(kUsualProfileSteps);
  parameters.set_duration_ms(ProfileMillis(job.step_seconds_median(), kUsualProfileSteps));
  return parameters.SerializeAsString();
}

}  // namespace

// The system's clock may have been set since: nothing is taken to be of the future, or of before the log.
absl::Status SelfProfiles::Restore() {
  ASSIGN_OR_RETURN(const std::vector<wire::AuditRecord> records, parts_.history.LoadAudit());
  for (const wire::AuditRecord& record : records) {
    if (record.action() != kAction || record.by() != kBy) continue;
    const int64_t age_ns = std::max<int64_t>(0, parts_.os_clock.WallNanos() - record.wall_ns());
    schedule_.Restore(record.of(), parts_.clock.WallNanos() - age_ns);
  }
  return absl::OkStatus();
}

void SelfProfiles::Look() {
  if (!parts_.enabled) return;
  std::map<std::string, std::vector<wire::Incident>> incidents;
  parts_.incidents.ForEach(/*open_only=*/true, "", [&](const wire::Incident& incident) {
    if (MayBeProfiled(incident)) incidents[incident.job()].push_back(incident);
  });
  const int64_t now_ns = parts_.clock.WallNanos();
  std::set<std::string> jobs;
  const Snapshots snapshots = parts_.snapshots();
  for (const auto& snapshot : snapshots) {
    for (const wire::Job& job : snapshot->jobs) {
      jobs.insert(job.job());
      const std::vector<wire::Incident>& of_job = incidents[job.job()];
      const std::optional<ProfileReason> reason = schedule_.Due(job, of_job, now_ns);
      if (!reason.has_value() || under_way_.load() >= kMostUnderWay) continue;
      std::vector<DemandTarget> targets = Targets(snapshots, job.job(), of_job);
      if (targets.empty()) continue;
      schedule_.Begin(job.job(), now_ns);
      ++under_way_;
      const bool taken = parts_.worker.TryRun(
          [this, job, reason = *reason, targets = std::move(targets)] { Begin(job, reason, targets); });
      if (taken) continue;
      --under_way_;
      outcomes_.failed.Increment();
    }
  }
  schedule_.Forget(jobs, now_ns);
}

std::vector<DemandTarget> SelfProfiles::Targets(const Snapshots& snapshots, const std::string& job,
                                                absl::Span<const wire::Incident> incidents) const {
  const std::vector<wire::Rank>* const ranks = RanksOf(snapshots, job);
  if (ranks == nullptr) return {};
  const std::vector<int32_t> suspects = SuspectRanks(incidents, *ranks);
  absl::StatusOr<DemandTargets> found =
      FindCompared(snapshots, job, suspects, FindDemandKind(kKind)->peers, DemandBook::kMaxOpenOfJob);
  if (!found.ok()) return {};
  std::erase_if(found->targets, [&](const DemandTarget& target) { return !parts_.offers(target.host); });
  const bool has_suspect = std::any_of(found->targets.begin(), found->targets.end(), [&](const DemandTarget& target) {
    return std::find(suspects.begin(), suspects.end(), target.rank) != suspects.end();
  });
  if (!suspects.empty() && !has_suspect) return {};
  return std::move(found->targets);
}

void SelfProfiles::Begin(const wire::Job& job, const ProfileReason& reason, std::vector<DemandTarget> targets) {
  const std::string from = absl::StrCat("because of ", reason.text, ", ", targets.size(), " ranks");
  if (!parts_.audit.Note(kBy, from, kAction, job.job(), absl::OkStatus()).ok()) {
    outcomes_.failed.Increment();
    --under_way_;
    return;
  }
  const auto done = [this, name = job.job(), because = reason.text](const GatheredProfiles& gathered) {
    Conclude(name, because, gathered);
  };
  const DemandBook::Answer take = GatherProfiles({parts_.worker, parts_.metrics, parts_.run_on_shard}, job.job(),
                                                 reason.incident, targets.size(), done);
  parts_.demands.Open({kKind, job.job(), ParametersOf(job), std::move(targets)}, take);
}

void SelfProfiles::Conclude(const std::string& job, const std::string& because, const GatheredProfiles& gathered) {
  --under_way_;
  const JobProfile& profile = gathered.profile;
  const bool failed = profile.ranks.empty();
  (failed ? outcomes_.failed : profile.findings.empty() ? outcomes_.nothing : outcomes_.found).Increment();
  Log(LogLevel::kInfo, "a slow job was profiled",
      {{"job", job},
       {"because_of", because},
       {"ranks", std::to_string(profile.ranks.size())},
       {"findings", std::to_string(profile.findings.size())},
       {"not_profiled", gathered.why_not}});
}

}  // namespace lockstep
