// Which of the scouted communicators moves its data slowly, and whom to ask about it.
//
// A slow rank keeps everybody waiting and makes no transfer longer; a slow adapter or link makes nobody late: all
// members of a group wait alike for its ring. So the time inside of the member that waits least, the last to arrive, is
// compared with that of like operations of like communicators. Which member it is, only transfers that not all share
// can tell: those between stages. So the group is asked together with the ranks to which its members send.
//
// Pure. Cost O(operations log operations).

#ifndef LOCKSTEP_DETECTOR_ENGINE_SLOW_GROUP_H_
#define LOCKSTEP_DETECTOR_ENGINE_SLOW_GROUP_H_

#include <cstdint>
#include <vector>

#include "detector/engine/search_plan.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"

namespace lockstep {

struct SlowGroup {
  double excess_seconds = 0;   // over what the same call takes in like communicators, median; 0 = none is slow
  std::vector<int32_t> ranks;  // slots, rising: its members, and who shares a communicator of Send and Recv with them
};

// The slowest of the scouted communicators that take longer by a quarter.
SlowGroup FindSlowGroup(const Roster& roster, const SearchPlan& plan, const std::vector<PulledOperations>& scouted);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_SLOW_GROUP_H_
