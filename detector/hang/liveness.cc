#include "detector/hang/liveness.h"

#include <algorithm>

#include "base/clock.h"

namespace lockstep {
namespace {

// : two and ten reports of an agent.
constexpr int64_t kSurvivedNs = kNanosPerSecond;     // others must have outlived a dead process by this much
constexpr int64_t kReportsNs = 5 * kNanosPerSecond;  // a host that reported within this time reports

// Whether an operation with a member on the silent host has moved since that host fell silent: its ranks must have
// taken part, so that only the agent is gone.
bool MovedSince(const Roster& roster, int32_t rank_slot, int64_t silent_since_ns) {
  for (const RankProcess::Membership& place : roster.ranks()[static_cast<size_t>(rank_slot)].memberships) {
    const Communicator& communicator = roster.communicators()[static_cast<size_t>(place.communicator_slot)];
    for (const Member& member : communicator.members) {
      if (member.rank_slot < 0) continue;
      const RankProcess& other = roster.ranks()[static_cast<size_t>(member.rank_slot)];
      const Member& silent = communicator.members[static_cast<size_t>(place.member)];
      const bool newer = other.received_ns - member.idle_ns > silent_since_ns + kReportsNs;
      if (newer && member.finished > silent.enqueued) return true;
    }
  }
  return false;
}

// Whether a rank elsewhere is inside of an operation that the silent rank is a member of. In a common pause nobody is:
// there, silence says nothing about the machine.
bool IsAwaited(const Roster& roster, int32_t rank_slot) {
  const int32_t host_slot = roster.ranks()[static_cast<size_t>(rank_slot)].host_slot;
  for (const RankProcess::Membership& place : roster.ranks()[static_cast<size_t>(rank_slot)].memberships) {
    const Communicator& communicator = roster.communicators()[static_cast<size_t>(place.communicator_slot)];
    for (const Member& member : communicator.members) {
      if (member.rank_slot < 0 || !member.in_flight.has_value()) continue;
      if (roster.ranks()[static_cast<size_t>(member.rank_slot)].host_slot != host_slot) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<DeadProcess> FindDeadProcesses(const Roster& roster) {
  std::vector<DeadProcess> dead;
  const bool any = std::any_of(roster.ranks().begin(), roster.ranks().end(),
                               [](const RankProcess& rank) { return rank.gone_since_ns != 0; });
  if (!any) return dead;
  std::vector<int64_t> alive_ns;  // newest report of each rank that lives
  for (const RankProcess& rank : roster.ranks()) {
    if (!rank.dead() && !rank.finalized) alive_ns.push_back(rank.received_ns);
  }
  if (alive_ns.empty()) return dead;
  std::sort(alive_ns.begin(), alive_ns.end());
  for (size_t slot = 0; slot < roster.ranks().size(); ++slot) {
    const RankProcess& rank = roster.ranks()[slot];
    if (rank.gone_since_ns == 0 || rank.finalized || rank.disabled) continue;
    const auto outlived =
        alive_ns.end() - std::lower_bound(alive_ns.begin(), alive_ns.end(), rank.gone_since_ns + kSurvivedNs);
    if (outlived == 0) continue;
    dead.push_back({static_cast<int32_t>(slot), rank.gone_since_ns, static_cast<int32_t>(outlived)});
  }
  return dead;
}

std::vector<SilentHost> FindSilentHosts(const Roster& roster, int64_t watermark_ns, int64_t host_silent_ns) {
  std::vector<SilentHost> silent;
  int32_t reporting = 0;
  for (const Host& host : roster.hosts()) reporting += watermark_ns - host.received_ns <= kReportsNs ? 1 : 0;
  const bool any = std::any_of(roster.hosts().begin(), roster.hosts().end(),
                               [&](const Host& host) { return watermark_ns - host.received_ns > host_silent_ns; });
  if (reporting == 0 || !any) return silent;  // nobody reports: the fault is on our side
  std::vector<int32_t> place(roster.hosts().size(), -1);
  for (size_t slot = 0; slot < roster.ranks().size(); ++slot) {
    const RankProcess& rank = roster.ranks()[slot];
    const Host& host = roster.hosts()[static_cast<size_t>(rank.host_slot)];
    if (watermark_ns - host.received_ns <= host_silent_ns || rank.finalized || rank.disabled || rank.dead()) continue;
    int32_t& index = place[static_cast<size_t>(rank.host_slot)];
    if (index < 0) {
      index = static_cast<int32_t>(silent.size());
      silent.push_back({rank.host_slot, watermark_ns - host.received_ns, {}, reporting});
    }
    silent[static_cast<size_t>(index)].ranks.push_back(static_cast<int32_t>(slot));
  }
  std::erase_if(silent, [&](const SilentHost& host) {
    const bool awaited =
        std::any_of(host.ranks.begin(), host.ranks.end(), [&roster](int32_t rank) { return IsAwaited(roster, rank); });
    return !awaited || MovedSince(roster, host.ranks.front(), watermark_ns - host.silent_ns);
  });
  return silent;
}

bool AllOver(const Roster& roster) {
  return !roster.ranks().empty() && std::all_of(roster.ranks().begin(), roster.ranks().end(),
                                                [](const RankProcess& rank) { return rank.finalized || rank.dead(); });
}

}  // namespace lockstep
