#include "detector/engine/rank_summary.h"

#include <algorithm>

namespace lockstep {

std::vector<RankSummary> SummarizeRanks(const Roster& roster, const std::vector<RankWork>& work, double step_seconds) {
  std::vector<RankSummary> ranks(roster.ranks().size());
  for (size_t slot = 0; slot < ranks.size(); ++slot) {
    const RankProcess& process = roster.ranks()[slot];
    RankSummary& rank = ranks[slot];
    rank.rank = process.rank;
    rank.host = roster.HostName(static_cast<int32_t>(slot));
    rank.pid = process.pid;
    rank.local_rank = process.local_rank;
    rank.gpu = process.gpu;
    rank.gpu_uuid = process.gpu_uuid;
    rank.gpu_pci_address = process.gpu_pci_address;
    rank.pod = process.pod;
    rank.process_state = process.state;
    rank.finalized = process.finalized;
    rank.end = process.end;
    rank.lost_records = process.lost;
    rank.last_seen_ns = process.received_ns;
    for (const RankProcess::Membership& place : process.memberships) {
      const Member& member = roster.communicators()[static_cast<size_t>(place.communicator_slot)]
                                 .members[static_cast<size_t>(place.member)];
      rank.enqueued += member.enqueued;
      rank.finished += member.finished;
    }
  }
  for (const RankWork& own : work) {
    const int32_t slot = roster.SlotOfRank(own.rank);
    if (slot < 0) continue;
    RankSummary& rank = ranks[static_cast<size_t>(slot)];
    rank.duty = own.duty;
    rank.own_seconds_per_step = own.own_seconds;
    rank.wait_seconds_per_step = std::max(0.0, step_seconds - own.own_seconds);
  }
  std::sort(ranks.begin(), ranks.end(), [](const RankSummary& a, const RankSummary& b) { return a.rank < b.rank; });
  return ranks;
}

}  // namespace lockstep
