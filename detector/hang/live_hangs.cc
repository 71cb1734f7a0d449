#include "detector/hang/live_hangs.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "detector/hang/hang_search.h"
#include "detector/hang/hang_timeout.h"
#include "detector/hang/hang_verdict.h"
#include "detector/hang/live_frontier.h"
#include "detector/hang/liveness.h"

namespace lockstep {
namespace {

// Queued behind something that the GPU has begun: not this is what the rank is inside of.
bool IsQueued(const Roster& roster, const RankProcess& rank, const InFlightOperation& operation) {
  if (operation.started) return false;
  return std::any_of(rank.memberships.begin(), rank.memberships.end(), [&](const RankProcess::Membership& place) {
    const Member& member =
        roster.communicators()[static_cast<size_t>(place.communicator_slot)].members[static_cast<size_t>(place.member)];
    return member.in_flight.has_value() && ShowsBegin(*member.in_flight);
  });
}

// Counts who is stuck, or sees that all are outside. Patience by communicator slot; `patience_ns` is the job's.
void LookOver(const Roster& roster, int64_t patience_ns, const std::vector<int64_t>& patience_of_ns, LiveHangs* found) {
  bool all_outside = true;
  int64_t shortest_idle_ns = INT64_MAX;
  for (const RankProcess& rank : roster.ranks()) {
    if (rank.finalized || rank.disabled || rank.dead()) {
      all_outside = all_outside && !rank.disabled;
      continue;
    }
    bool stuck = false;
    for (const RankProcess::Membership& place : rank.memberships) {
      const Member& member = roster.communicators()[static_cast<size_t>(place.communicator_slot)]
                                 .members[static_cast<size_t>(place.member)];
      shortest_idle_ns = std::min(shortest_idle_ns, member.idle_ns);
      if (!member.in_flight.has_value()) continue;
      all_outside = false;
      const int64_t inside_ns = member.InsideNs(*member.in_flight, rank.received_ns);
      if (inside_ns < patience_of_ns[static_cast<size_t>(place.communicator_slot)]) continue;
      if (IsQueued(roster, rank, *member.in_flight)) continue;
      stuck = true;
      found->longest_wait_ns = std::max(found->longest_wait_ns, inside_ns);
    }
    found->stuck_ranks += stuck ? 1 : 0;
  }
  found->all_outside = all_outside && shortest_idle_ns != INT64_MAX && shortest_idle_ns >= patience_ns;
  found->shortest_idle_ns = found->all_outside ? shortest_idle_ns : 0;
}

// A complaint of the kernel makes a fault of the program one of the machine.
void AddLog(const EvidenceLog& log, int64_t watermark_ns, Verdict* verdict) {
  std::set<std::string> hosts;
  for (const Culprit& culprit : verdict->culprits) hosts.insert(culprit.host);
  for (const std::string& host : hosts) {
    std::vector<Evidence> said = log.About(host, watermark_ns);
    if (!said.empty() && verdict->advice == Advice::kCheckSoftware) verdict->advice = Advice::kCordonAndReplace;
    std::move(said.begin(), said.end(), std::back_inserter(verdict->evidence));
  }
}

}  // namespace

LiveHangs JudgeLiveHangs(const Roster& roster, const LiveHangContext& context) {
  LiveHangs found;
  const std::vector<DeadProcess> dead = FindDeadProcesses(roster);
  std::vector<SilentHost> silent;
  const bool started_up = StartedUp(roster);
  const HangTimeoutOptions options = {.floor_ns = context.hang_floor_ns, .step_multiple = context.hang_step_multiple};
  // Steps that are found before all have met a few times may be parts of the first.
  const double step_seconds = started_up ? context.longest_usual_step_seconds : 0;
  const int64_t patience_ns = started_up ? HangTimeoutNs(roster, step_seconds, options) : StartUpTimeoutNs(roster);
  std::vector<int64_t> patience_of_ns;
  if (patience_ns < INT64_MAX) {
    for (const Communicator& communicator : roster.communicators()) {
      patience_of_ns.push_back(HangTimeoutIn(communicator, patience_ns, step_seconds, options));
    }
    LookOver(roster, patience_ns, patience_of_ns, &found);
    silent = FindSilentHosts(roster, context.watermark_ns, context.host_silent_ns);
  }
  if (found.stuck_ranks == 0 && dead.empty() && silent.empty()) return found;
  const LiveFrontier live = ReadRoster(roster, dead, silent,
                                       {.now_ns = context.watermark_ns,
                                        .patience_ns = patience_ns,
                                        .patience_of_ns = std::move(patience_of_ns),
                                        .longest_usual_step_seconds = context.longest_usual_step_seconds});
  found.verdicts = HangVerdicts(live.frontier, SearchHangs(live.frontier, /*stalls_pass=*/false), {});
  for (Verdict& verdict : found.verdicts) {
    verdict.first_step = verdict.last_step = context.step;
    if (context.log != nullptr) AddLog(*context.log, context.watermark_ns, &verdict);
  }
  return found;
}

}  // namespace lockstep
