#include "collector/hang_stacks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "collector/demands/demand_targets.h"
#include "detector/verdict/verdict.h"
#include "proto/stacks.pb.h"

namespace lockstep {
namespace {

constexpr char kKind[] = "stacks";

bool IsOpenHang(const wire::Incident& incident) {
  return IsHangInCalls(incident.verdict().class_()) && !incident.suspected() &&
         incident.state() == wire::Incident::STATE_OPEN;
}

bool IsAccused(const wire::Incident& incident, const DemandTarget& process) {
  const auto& culprits = incident.verdict().culprits();
  return std::any_of(culprits.begin(), culprits.end(), [&](const wire::Culprit& culprit) {
    return culprit.rank() >= 0 ? culprit.rank() == process.rank : culprit.host() == process.host;
  });
}

}  // namespace

std::vector<DemandTarget> StackTargets(const wire::Incident& incident, const std::vector<wire::Rank>& ranks) {
  std::vector<DemandTarget> targets;
  if (!IsOpenHang(incident)) return targets;
  std::vector<const wire::Rank*> victims;
  for (const wire::Rank& rank : ranks) {
    if (rank.process_state() == "gone") continue;
    if (!IsAccused(incident, TargetOf(rank))) {
      victims.push_back(&rank);
    } else if (targets.size() < kMaxStackCulprits) {
      targets.push_back(TargetOf(rank));
    }
  }
  std::set<std::string> hosts;
  for (const DemandTarget& culprit : targets) hosts.insert(culprit.host);
  std::stable_partition(victims.begin(), victims.end(),
                        [&](const wire::Rank* rank) { return hosts.count(rank->host()) == 0; });
  victims.resize(std::min(victims.size(), kMaxStackVictims));
  for (const wire::Rank* const rank : victims) targets.push_back(TargetOf(*rank));
  return targets;
}

void HangStacks::Restore(absl::Span<const wire::Incident> incidents) {
  MutexLock lock(mutex_);
  for (const wire::Incident& incident : incidents) {
    if (IsOpenHang(incident)) taken_[incident.id()] = {incident.job(), {}, /*is_of_earlier_life=*/true};
  }
}

void HangStacks::Announce(const IncidentEvent& event) {
  parts_.next.Announce(event);
  if (!parts_.enabled) return;
  if (event.kind == IncidentEvent::Kind::kResolved) return Forget(event.incident.id());
  if (event.kind == IncidentEvent::Kind::kReopened) Forget(event.incident.id());
  if (!IsOpenHang(event.incident)) return;
  const auto snapshots = parts_.snapshots();
  const std::vector<wire::Rank>* const ranks = RanksOf(snapshots, event.incident.job());
  if (ranks == nullptr) return;
  for (const Asked& asked : NewlyAsked(event.incident, *ranks)) Ask(event.incident.id(), event.incident.job(), asked);
}

// Of the first targets there is room for kMaxStackCulprits before them: culprits that become known later come first.
std::vector<HangStacks::Asked> HangStacks::NewlyAsked(const wire::Incident& incident,
                                                      const std::vector<wire::Rank>& ranks) {
  const std::vector<DemandTarget> targets = StackTargets(incident, ranks);
  if (targets.empty()) return {};
  MutexLock lock(mutex_);
  const bool is_known = taken_.count(incident.id()) > 0;
  if (!is_known && taken_.size() >= kMaxStackIncidents) {
    taken_.erase(taken_.begin());
    parts_.metrics.CountDropped("hang_stacks");
  }
  Taken& taken = taken_[incident.id()];
  if (taken.is_of_earlier_life) return {};
  taken.job = incident.job();
  std::vector<Asked> asked;
  const auto was_asked = [&](const DemandTarget& target) {
    return std::any_of(taken.asked.begin(), taken.asked.end(), [&](const Asked& one) {
      return one.target.rank == target.rank && one.target.host == target.host && one.target.pid == target.pid;
    });
  };
  uint32_t first_free = kMaxStackCulprits;
  for (const Asked& one : taken.asked) first_free = std::min(first_free, one.place);
  for (uint32_t i = 0; i < targets.size(); ++i) {
    if (!is_known) {
      asked.push_back({targets[i], static_cast<uint32_t>(kMaxStackCulprits) + i});
    } else if (IsAccused(incident, targets[i]) && !was_asked(targets[i]) && first_free > 0) {
      asked.push_back({targets[i], --first_free});
    }
  }
  taken.asked.insert(taken.asked.end(), asked.begin(), asked.end());
  return asked;
}

void HangStacks::Forget(uint64_t incident) {
  MutexLock lock(mutex_);
  taken_.erase(incident);
}

void HangStacks::Ask(uint64_t incident, const std::string& job, const Asked& asked) {
  parts_.demands.Open({kKind, job, "", {asked.target}},
                      [this, incident, job, place = asked.place](const DemandResult& result) {
                        OnAnswer(incident, job, place, result);
                      });
}

void HangStacks::AskAgain() {
  struct Due {
    uint64_t incident;
    std::string job;
    Asked asked;
  };
  std::vector<Due> due;
  {
    MutexLock lock(mutex_);
    for (auto& [incident, taken] : taken_) {
      for (Asked& asked : taken.asked) {
        if (asked.again_ns == 0 || asked.again_ns > parts_.clock.MonotonicNanos()) continue;
        asked.again_ns = 0;
        due.push_back({incident, taken.job, asked});
      }
    }
  }
  for (const Due& one : due) Ask(one.incident, one.job, one.asked);
}

void HangStacks::OnAnswer(uint64_t incident, const std::string& job, uint32_t place, const DemandResult& result) {
  if (result.outcome == wire::DemandAnswer::OUTCOME_REFUSED) NoteRefusal(incident, place);
  Keep(incident, job, place, result);
}

void HangStacks::NoteRefusal(uint64_t incident, uint32_t place) {
  MutexLock lock(mutex_);
  const auto taken = taken_.find(incident);
  if (taken == taken_.end()) return;
  for (Asked& asked : taken->second.asked) {
    if (asked.place != place || ++asked.times >= kMostStackAsks) continue;
    asked.again_ns = parts_.clock.MonotonicNanos() + FindDemandKind(kKind)->patience_ns;
  }
}

void HangStacks::Keep(uint64_t incident, const std::string& job, uint32_t place, const DemandResult& result) {
  wire::StackDump dump;
  if (result.outcome != wire::DemandAnswer::OUTCOME_DONE || !dump.ParseFromString(result.payload)) {
    Log(LogLevel::kInfo, "no stacks of a rank that hangs",
        {{"job", job}, {"rank", std::to_string(result.target.rank)}, {"why", result.reason}});
    return;
  }
  dump.set_host(result.target.host);
  dump.set_job(job);
  dump.set_rank(result.target.rank);
  dump.set_wall_ns(parts_.clock.WallNanos());
  // Whoever keeps them outlives this.
  const auto keep = [&history = parts_.history, &metrics = parts_.metrics, incident, place, dump = std::move(dump)] {
    if (!history.PutStacks(incident, place, dump).ok()) metrics.CountDropped("stacks_write");
  };
  const bool taken = parts_.worker.TryRun(keep);
  if (!taken) parts_.metrics.CountDropped("stacks_write");
}

}  // namespace lockstep
