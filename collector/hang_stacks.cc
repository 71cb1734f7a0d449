#include "collector/hang_stacks.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/log.h"
#include "collector/demands/demand_targets.h"
#include "proto/stacks.pb.h"

namespace lockstep {
namespace {

// Classes of verdicts in which somebody stands in a function.
constexpr absl::string_view kHangs[] = {"hang_not_entered", "hang_in_communication", "collective_mismatch", "deadlock"};

bool IsHang(const wire::Incident& incident) {
  return std::find(std::begin(kHangs), std::end(kHangs), incident.verdict().class_()) != std::end(kHangs) &&
         !incident.suspected() && incident.state() == wire::Incident::STATE_OPEN;
}

bool IsAccused(const wire::Incident& incident, const wire::Rank& rank) {
  const auto& culprits = incident.verdict().culprits();
  return std::any_of(culprits.begin(), culprits.end(), [&](const wire::Culprit& culprit) {
    return culprit.rank() >= 0 ? culprit.rank() == rank.rank() : culprit.host() == rank.host();
  });
}

}  // namespace

std::vector<DemandTarget> StackTargets(const wire::Incident& incident, const std::vector<wire::Rank>& ranks) {
  std::vector<DemandTarget> targets;
  if (!IsHang(incident)) return targets;
  std::vector<const wire::Rank*> victims;
  for (const wire::Rank& rank : ranks) {
    if (rank.process_state() == "gone") continue;
    if (!IsAccused(incident, rank)) {
      victims.push_back(&rank);
    } else if (targets.size() < kMaxStackCulprits) {
      targets.push_back({rank.host(), rank.rank(), rank.pid()});
    }
  }
  std::set<std::string> hosts;
  for (const DemandTarget& culprit : targets) hosts.insert(culprit.host);
  std::stable_partition(victims.begin(), victims.end(),
                        [&](const wire::Rank* rank) { return hosts.count(rank->host()) == 0; });
  victims.resize(std::min(victims.size(), kMaxStackVictims));
  for (const wire::Rank* const rank : victims) targets.push_back({rank->host(), rank->rank(), rank->pid()});
  return targets;
}

void HangStacks::Announce(const IncidentEvent& event) {
  parts_.next.Announce(event);
  const bool begins = event.kind == IncidentEvent::Kind::kOpened || event.kind == IncidentEvent::Kind::kReopened;
  if (parts_.enabled && begins) Take(event.incident);
}

void HangStacks::Take(const wire::Incident& incident) {
  const auto snapshots = parts_.snapshots();
  const std::vector<wire::Rank>* const ranks = RanksOf(snapshots, incident.job());
  if (ranks == nullptr) return;
  const std::vector<DemandTarget> targets = StackTargets(incident, *ranks);
  for (uint32_t place = 0; place < targets.size(); ++place) {
    parts_.demands.Open({"stacks", incident.job(), "", {targets[place]}},
                        [this, id = incident.id(), job = incident.job(), place](const DemandResult& result) {
                          Keep(id, job, place, result);
                        });
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
  const bool taken = parts_.worker.TryRun([this, incident, place, dump = std::move(dump)] {
    if (!parts_.history.PutStacks(incident, place, dump).ok()) parts_.metrics.CountDropped("stacks_write");
  });
  if (!taken) parts_.metrics.CountDropped("stacks_write");
}

}  // namespace lockstep
