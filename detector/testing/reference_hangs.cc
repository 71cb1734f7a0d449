#include "detector/testing/reference_hangs.h"

namespace lockstep {

bool ReferenceHangs::InClosedCycle(int32_t slot) const {
  for (int32_t other = 0; other < static_cast<int32_t>(waits.size()); ++other) {
    if (waits[static_cast<size_t>(slot)][static_cast<size_t>(other)] == 0) continue;
    if (!InOneCycle(slot, other) || complete[static_cast<size_t>(other)] != 0) return false;
  }
  return InOneCycle(slot, slot);
}

ReferenceHangs FindReferenceHangs(const Roster& roster, int64_t timeout_ns) {
  const size_t ranks = roster.ranks().size();
  ReferenceHangs hangs;
  hangs.waits.assign(ranks, std::vector<char>(ranks, 0));
  hangs.complete.assign(ranks, 0);
  std::vector<char> inside(ranks, 0);
  for (const Communicator& communicator : roster.communicators()) {
    for (const Member& member : communicator.members) {
      if (member.rank_slot >= 0 && member.in_flight.has_value()) inside[static_cast<size_t>(member.rank_slot)] = 1;
    }
  }
  for (const Communicator& communicator : roster.communicators()) {
    for (const Member& stuck : communicator.members) {
      if (stuck.rank_slot < 0 || !stuck.in_flight.has_value() || stuck.in_flight->age_ns < timeout_ns) continue;
      bool complete = true;
      for (const Member& other : communicator.members) {
        if (other.rank_slot < 0 || other.enqueued >= stuck.in_flight->sequence) continue;
        const auto blocker = static_cast<size_t>(other.rank_slot);
        if (roster.ranks()[blocker].finalized || roster.ranks()[blocker].disabled) continue;
        complete = false;
        hangs.waits[static_cast<size_t>(stuck.rank_slot)][blocker] = 1;
        if (inside[blocker] == 0) hangs.missing.insert(other.rank_slot);
      }
      if (complete) hangs.complete[static_cast<size_t>(stuck.rank_slot)] = 1;
    }
  }
  for (size_t via = 0; via < ranks; ++via) {
    for (size_t from = 0; from < ranks; ++from) {
      for (size_t to = 0; to < ranks; ++to) {
        if (hangs.waits[from][via] != 0 && hangs.waits[via][to] != 0) hangs.waits[from][to] = 1;
      }
    }
  }
  return hangs;
}

}  // namespace lockstep
