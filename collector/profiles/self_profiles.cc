#include "collector/profiles/self_profiles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "collector/access/valid_text.h"
#include "collector/demands/demand_targets.h"
#include "collector/demands/profile_length.h"
#include "collector/demands/suspect_ranks.h"
#include "collector/incident/profile_evidence.h"
#include "detector/patterns/profile_diagnosis.h"
#include "detector/patterns/rank_patterns.h"
#include "detector/verdict/verdict.h"
#include "formats/pattern_message.h"
#include "proto/admin.pb.h"
#include "proto/patterns.pb.h"

namespace lockstep {
namespace {

constexpr char kKind[] = "profile";
constexpr char kBy[] = "the collector";

std::string ParametersOf(const wire::Job& job) {
  wire::ProfileParameters parameters;
  parameters.set_steps(kUsualProfileSteps);
  parameters.set_duration_ms(ProfileMillis(job.step_seconds_median(), kUsualProfileSteps));
  return parameters.SerializeAsString();
}

absl::StatusOr<ProfiledRank> Read(const DemandResult& result) {
  if (result.outcome != wire::DemandAnswer::OUTCOME_DONE) return absl::UnavailableError(result.reason);
  wire::RankProfile profile;
  ProfiledRank rank;
  ASSIGN_OR_RETURN(rank.patterns, ParseProfile(result.payload, profile));
  rank.patterns.rank = result.target.rank;
  rank.patterns.host = result.target.host;
  rank.pid = result.target.pid;
  return rank;
}

}  // namespace

// What comes of one job.
struct SelfProfiles::Gathering {
  Gathering(std::string name, const ProfileReason& why, size_t count)
      : job(std::move(name)), reason(why), awaited(count) {}

  const std::string job;
  const ProfileReason reason;
  Mutex mutex;
  size_t awaited ABSL_GUARDED_BY(mutex);
  std::vector<ProfiledRank> ranks ABSL_GUARDED_BY(mutex);
  std::string why_not ABSL_GUARDED_BY(mutex);  // of the first that has not answered
};

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
  const auto gathering = std::make_shared<Gathering>(job.job(), reason, targets.size());
  parts_.demands.Open({kKind, job.job(), ParametersOf(job), std::move(targets)},
                      [this, gathering](const DemandResult& result) { Take(gathering, result); });
}

void SelfProfiles::Take(const std::shared_ptr<Gathering>& gathering, const DemandResult& result) {
  absl::StatusOr<ProfiledRank> rank = Read(result);
  {
    MutexLock lock(gathering->mutex);
    if (rank.ok()) {
      for (FunctionPattern& function : rank->patterns.functions) {
        function.name = ValidText(function.name, kMostFunctionNameBytes);
      }
      gathering->ranks.push_back(*std::move(rank));
    } else if (gathering->why_not.empty()) {
      gathering->why_not =
          absl::StrCat("rank ", result.target.rank, " on ", result.target.host, ": ", rank.status().message());
    }
    if (--gathering->awaited > 0) return;
  }
  if (parts_.worker.TryRun([this, gathering] { Conclude(*gathering); })) return;
  --under_way_;
  parts_.metrics.CountDropped("profile_answers");
}

void SelfProfiles::Conclude(Gathering& gathering) {
  --under_way_;
  MutexLock lock(gathering.mutex);
  JobProfile profile{.incident = gathering.reason.incident};
  for (const ProfiledRank& rank : gathering.ranks) profile.ranks.insert(rank.patterns.rank);
  for (Verdict& verdict : DiagnoseProfiles(gathering.job, gathering.ranks).verdicts) {
    if (verdict.type() != FindingType::kAbstention) profile.findings.push_back(std::move(verdict));
  }
  const bool failed = profile.ranks.empty();
  (failed ? outcomes_.failed : profile.findings.empty() ? outcomes_.nothing : outcomes_.found).Increment();
  Log(LogLevel::kInfo, "a slow job was profiled",
      {{"job", gathering.job},
       {"because_of", gathering.reason.text},
       {"ranks", std::to_string(profile.ranks.size())},
       {"findings", std::to_string(profile.findings.size())},
       {"not_profiled", gathering.why_not}});
  if (failed) return;
  const bool taken = parts_.run_on_shard(
      gathering.job, [job = gathering.job, profile](JobTable& table) { table.AddProfile(job, profile); });
  if (!taken) parts_.metrics.CountDropped("profile_findings");
}

}  // namespace lockstep
