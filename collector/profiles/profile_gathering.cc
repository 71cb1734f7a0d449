#include "collector/profiles/profile_gathering.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "collector/access/valid_text.h"
#include "detector/patterns/profile_diagnosis.h"
#include "detector/patterns/rank_patterns.h"
#include "detector/verdict/verdict.h"
#include "formats/pattern_message.h"
#include "proto/patterns.pb.h"

namespace lockstep {
namespace {

absl::StatusOr<ProfiledRank> Read(const DemandResult& result) {
  if (result.outcome != wire::DemandAnswer::OUTCOME_DONE) return absl::UnavailableError(result.reason);
  wire::RankProfile profile;
  ProfiledRank rank;
  ASSIGN_OR_RETURN(rank.patterns, ParseProfile(result.payload, profile));
  for (FunctionPattern& function : rank.patterns.functions) {
    function.name = ValidText(function.name, kMostFunctionNameBytes);
  }
  rank.patterns.rank = result.target.rank;
  rank.patterns.host = result.target.host;
  rank.pid = result.target.pid;
  rank.duty = result.target.duty;
  return rank;
}

// Thread-safe.
class Gathering {
 public:
  Gathering(std::string job, uint64_t incident, size_t awaited)
      : job_(std::move(job)), incident_(incident), awaited_(awaited) {}

  // True for the last one.
  bool Take(const DemandResult& result) {
    absl::StatusOr<ProfiledRank> rank = Read(result);
    MutexLock lock(mutex_);
    if (rank.ok()) {
      ranks_.push_back(*std::move(rank));
    } else if (why_not_.empty()) {
      why_not_ = absl::StrCat("rank ", result.target.rank, " on ", result.target.host, ": ", rank.status().message());
    }
    return --awaited_ == 0;
  }

  GatheredProfiles Compare() {
    MutexLock lock(mutex_);
    GatheredProfiles gathered{.profile = {.incident = incident_}, .why_not = why_not_};
    for (const ProfiledRank& rank : ranks_) gathered.profile.ranks.insert(rank.patterns.rank);
    for (Verdict& verdict : DiagnoseProfiles(job_, ranks_).verdicts) {
      if (verdict.type() != FindingType::kAbstention) gathered.profile.findings.push_back(std::move(verdict));
    }
    return gathered;
  }

  const std::string& job() const { return job_; }

 private:
  const std::string job_;
  const uint64_t incident_;
  Mutex mutex_;
  size_t awaited_ ABSL_GUARDED_BY(mutex_);
  std::vector<ProfiledRank> ranks_ ABSL_GUARDED_BY(mutex_);
  std::string why_not_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

DemandBook::Answer GatherProfiles(const ProfileSinks& sinks, const std::string& job, uint64_t incident, size_t awaited,
                                  std::function<void(const GatheredProfiles& gathered)> done) {
  const auto gathering = std::make_shared<Gathering>(job, incident, awaited);
  const auto conclude = [sinks, gathering, done] {
    const GatheredProfiles gathered = gathering->Compare();
    if (done != nullptr) done(gathered);
    if (gathered.profile.ranks.empty()) return;
    const bool taken = sinks.run_on_shard(gathering->job(), [gathering, profile = gathered.profile](JobTable& table) {
      table.AddProfile(gathering->job(), profile);
    });
    if (!taken) sinks.metrics.CountDropped("profile_findings");
  };
  return [sinks, gathering, conclude, done](const DemandResult& result) {
    if (!gathering->Take(result) || sinks.worker.TryRun(conclude)) return;
    sinks.metrics.CountDropped("profile_answers");
    if (done != nullptr) done({.why_not = "too many queries wait for history"});
  };
}

}  // namespace lockstep
