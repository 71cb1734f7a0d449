#include "detector/verdict/roster_names.h"

#include <cstddef>

namespace lockstep {
namespace {

void NameRankOfGpu(const Roster& roster, Culprit* culprit) {
  if (culprit->gpu < 0 || culprit->rank >= 0) return;
  const RankProcess* found = nullptr;
  for (const RankProcess& rank : roster.ranks()) {
    if (rank.gpu != culprit->gpu || roster.hosts()[static_cast<size_t>(rank.host_slot)].name != culprit->host) continue;
    if (found != nullptr) return;
    found = &rank;
  }
  if (found == nullptr) return;
  culprit->rank = found->rank;
  culprit->pid = found->pid;
}

}  // namespace

RankName NameOf(const Roster& roster, int32_t rank_slot) {
  return {.rank = roster.ranks()[static_cast<size_t>(rank_slot)].rank, .host = roster.HostName(rank_slot)};
}

std::vector<int32_t> NumbersOf(const Roster& roster, const std::vector<int32_t>& rank_slots) {
  std::vector<int32_t> numbers;
  for (const int32_t slot : rank_slots) numbers.push_back(roster.ranks()[static_cast<size_t>(slot)].rank);
  return numbers;
}

Culprit CulpritOf(const Roster& roster, int32_t rank_slot, double confidence) {
  const RankProcess& rank = roster.ranks()[static_cast<size_t>(rank_slot)];
  return {.host = roster.HostName(rank_slot),
          .rank = rank.rank,
          .gpu = rank.gpu,
          .pid = rank.pid,
          .confidence = confidence};
}

std::vector<Verdict> WithRanksOfGpus(const Roster& roster, std::vector<Verdict> verdicts) {
  for (Verdict& verdict : verdicts) {
    for (Culprit& culprit : verdict.culprits) NameRankOfGpu(roster, &culprit);
  }
  return verdicts;
}

}  // namespace lockstep
