// Transfers that stood still once: a switch that rebooted, a link that flapped.
//
// A step is looked at when it took so much longer than the usual ones that it alone costs enough. A path stalled in it
// when its transfers, one or many, took at least half of that time more than usual, and nothing like it in the other
// steps: transfer times are those of the last to arrive, so that a late rank stalls nobody's transfer. Paths are left
// out of which some member's begins are not seen: it may have been the last. What the stalled
// paths have in common, and the others measured in those steps do not, is voted on (path_vote.h): all hosts that its
// causes mean are meant, told apart unless one of them lies between hosts. Our own. Pure. Cost O(paths x steps).

#ifndef LOCKSTEP_DETECTOR_NETWORK_TRANSFER_STALL_H_
#define LOCKSTEP_DETECTOR_NETWORK_TRANSFER_STALL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/network/transfer_table.h"
#include "detector/steps/step_finder.h"
#include "detector/verdict/network_reasons.h"

namespace lockstep {

struct TransferStall {
  int64_t first_step = 0;  // of the steps that stood still
  int64_t last_step = 0;
  int64_t steps = 0;
  double seconds = 0;  // longer than usual steps, together
  double share = 0;    // of the time from the first of them on
  // Rising: the side that is named, or all that cannot be told apart; of a link from, to.
  std::vector<int32_t> hosts;
  bool told_apart = false;                     // `hosts` are one side
  PathCauseKind kind = PathCauseKind::kHosts;  // what they are of all stalled paths; of several causes kHosts
  size_t stalled_paths = 0;
  size_t compared_paths = 0;
};

// At most one: what stalls in several steps is taken together. `host_of`: by rank. `explained`: channels, rising, whose
// transfers are slow for another reason. `min_cost`: see TransferStall::share. No stall: steps = 0.
TransferStall FindTransferStall(const TransferTable& table, const StepTable& steps, const std::vector<int32_t>& host_of,
                                const std::vector<int32_t>& explained, double min_cost);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_TRANSFER_STALL_H_
