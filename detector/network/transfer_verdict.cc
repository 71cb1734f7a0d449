#include "detector/network/transfer_verdict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "detector/network/path_class.h"
#include "detector/stats/robust.h"
#include "detector/verdict/confidence.h"
#include "detector/verdict/network_reasons.h"
#include "detector/verdict/roster_names.h"

namespace lockstep {
namespace {

// Of what people read.
constexpr size_t kMaxLate = 4;

class Writer {
 public:
  Writer(const Roster& roster, const WatchedTransfers& watched, const StepImpact& impact)
      : roster_(roster), watched_(watched), impact_(impact) {}

  Verdict Write(const PathCause& cause) const {
    const PathClass& row = ClassOf(cause.kind);
    Verdict verdict = Verdict::Accusation(row.scope, row.verdict_class);
    verdict.advice = Advice::kCheckLink;
    verdict.culprits = CulpritsOf(cause);
    verdict.cost = CostOf(cause);
    std::vector<double> ratios;
    for (const int32_t flow : cause.paths) ratios.push_back(watched_.judgement.ratio[static_cast<size_t>(flow)]);
    verdict.evidence = {{EvidenceKind::kDelayMatrix, LongerWaits{.place = PlaceOf(cause),
                                                                 .times = LowerMedianOrNan(std::move(ratios)),
                                                                 .watched_seconds = watched_.seconds,
                                                                 .flows = cause.paths.size(),
                                                                 .predicted = cause.predicted,
                                                                 .compared = watched_.judgement.flows,
                                                                 .limit = watched_.judgement.limit}}};
    if (verdict.cost.seconds_per_step > 0) {
      verdict.evidence.push_back(
          {EvidenceKind::kWhatIf, UsualWaitsStep{.step_seconds = impact_.step_seconds,
                                                 .lost_seconds = impact_.lost_seconds,
                                                 .saved_seconds = verdict.cost.seconds_per_step}});
    }
    return verdict;
  }

  Verdict Write(const LateRank& late) const {
    Verdict verdict = Verdict::Observation(VerdictClass::kComputeSlow);
    verdict.culprits = {CulpritOf(roster_, late.rank, kDoubtfulConfidence)};
    verdict.cost = Limited(late.excess_seconds);
    verdict.evidence = {
        {EvidenceKind::kDelayMatrix, LateGpu{.rank = roster_.ranks()[static_cast<size_t>(late.rank)].rank,
                                             .times = late.ratio,
                                             .flows = watched_.judgement.flows,
                                             .limit = watched_.judgement.limit}}};
    return verdict;
  }

 private:
  const std::string& HostName(int32_t host) const { return roster_.hosts()[static_cast<size_t>(host)].name; }

  PathPlace PlaceOf(const PathCause& cause) const {
    PathPlace place{.kind = cause.kind, .ranks = NumbersOf(roster_, cause.ranks), .hosts = {}};
    for (const int32_t host : cause.hosts) place.hosts.push_back(HostName(host));
    return place;
  }

  std::vector<Culprit> CulpritsOf(const PathCause& cause) const {
    std::vector<Culprit> culprits;
    if (cause.kind == PathCauseKind::kLink) {
      culprits.push_back(
          {.host = HostName(cause.hosts[0]), .peer_host = HostName(cause.hosts[1]), .confidence = kLikelyConfidence});
    } else if (cause.ranks.size() == 1) {
      culprits.push_back(CulpritOf(roster_, cause.ranks[0], kSureConfidence));
    } else if (cause.kind == PathCauseKind::kGroup) {
      for (const int32_t rank : cause.ranks) {
        culprits.push_back(CulpritOf(roster_, rank, 1.0 / static_cast<double>(cause.ranks.size())));
      }
    } else {
      for (const int32_t host : cause.hosts) {
        culprits.push_back(
            {.host = HostName(host), .confidence = kLikelyConfidence / static_cast<double>(cause.hosts.size())});
      }
    }
    return culprits;
  }

  Cost CostOf(const PathCause& cause) const {
    std::map<int32_t, double> of_rank;
    double most = 0;
    for (const int32_t flow : cause.paths) {
      const TransferFlow& path = watched_.flows[static_cast<size_t>(flow)];
      const double excess = watched_.judgement.excess_seconds[static_cast<size_t>(flow)];
      most = std::max({most, of_rank[path.source] += excess, of_rank[path.destination] += excess});
    }
    return Limited(most);
  }

  // `excess_seconds` over the whole watch.
  Cost Limited(double excess_seconds) const {
    if (impact_.step_seconds <= 0 || watched_.seconds <= 0) return {};
    const double per_step = excess_seconds * impact_.step_seconds / watched_.seconds;
    const double seconds = std::min(per_step, impact_.lost_seconds);
    if (seconds <= 0) return {};
    return {
        .slowdown_fraction = seconds / impact_.step_seconds, .seconds_per_step = seconds, .steps_affected_fraction = 1};
  }

  const Roster& roster_;
  const WatchedTransfers& watched_;
  const StepImpact& impact_;
};

std::set<std::string> HostsOf(const Verdict& verdict) {
  std::set<std::string> hosts;
  for (const Culprit& culprit : verdict.culprits) {
    hosts.insert(culprit.host);
    if (!culprit.peer_host.empty()) hosts.insert(culprit.peer_host);
  }
  hosts.erase("");
  return hosts;
}

bool Includes(const std::set<std::string>& all, const std::set<std::string>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

NetworkClear NotTheNetwork(const WatchedTransfers& watched) {
  return {.flows = watched.judgement.flows, .watched_seconds = watched.seconds, .limit = watched.judgement.limit};
}

// Whether the two mean the same place. What it takes over from the cause of transfers is `verdict`'s then.
bool Strengthen(const Verdict& of_transfers, Verdict* verdict) {
  const std::set<std::string> mine = HostsOf(of_transfers);
  const std::set<std::string> theirs = HostsOf(*verdict);
  const bool both_network = of_transfers.scope == VerdictScope::kNetwork && verdict->scope == VerdictScope::kNetwork;
  // Operations that show a slow network and nobody in it leave the place to be named.
  const bool unnamed = both_network && theirs.empty();
  const bool agree = both_network ? Includes(theirs, mine) || Includes(mine, theirs)
                                  : verdict->scope == VerdictScope::kMachine && Includes(mine, theirs);
  if (mine.empty() || (theirs.empty() && !unnamed) || !agree) return false;
  const bool more_exact = of_transfers.scope == VerdictScope::kNetwork &&
                          (unnamed || mine.size() < theirs.size() ||
                           (mine.size() == theirs.size() && of_transfers.culprits.size() < verdict->culprits.size()));
  if (more_exact) {
    verdict->culprits = of_transfers.culprits;
    verdict->verdict_class = of_transfers.verdict_class;
  }
  verdict->evidence.push_back(of_transfers.evidence.front());
  return true;
}

}  // namespace

std::vector<Verdict> TransferVerdicts(const Roster& roster, const WatchedTransfers& watched, const StepImpact& impact) {
  const Writer writer(roster, watched, impact);
  std::vector<Verdict> verdicts;
  for (const PathCause& cause : watched.judgement.causes) verdicts.push_back(writer.Write(cause));
  for (size_t i = 0; i < std::min(watched.judgement.late.size(), kMaxLate); ++i) {
    verdicts.push_back(writer.Write(watched.judgement.late[i]));
  }
  return verdicts;
}

void MergeTransferVerdicts(const WatchedTransfers& watched, std::vector<Verdict> of_transfers, double min_cost,
                           std::vector<Verdict>* verdicts) {
  const size_t known = verdicts->size();
  if (watched.judgement.kind == DelayJudgement::Kind::kClear) {
    for (Verdict& verdict : *verdicts) {
      if (verdict.scope == VerdictScope::kMachine) {
        verdict.evidence.push_back({EvidenceKind::kDelayMatrix, NotTheNetwork(watched)});
      }
    }
  }
  for (Verdict& verdict : of_transfers) {
    bool used = false;
    for (size_t i = 0; i < known && !used; ++i) used = Strengthen(verdict, &(*verdicts)[i]);
    if (!used && verdict.cost.slowdown_fraction >= min_cost) verdicts->push_back(std::move(verdict));
  }
}

}  // namespace lockstep
