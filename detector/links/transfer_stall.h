// Transfers that stood still once: a switch that rebooted, a link that flapped.
//
// A step is looked at when it took so much longer than the usual ones that it alone costs enough. A path stalled in it
// when one of its transfers took at least half of that time more than usual, and nothing like it in the other steps:
// transfer times are those of the last to arrive, so that a late rank stalls nobody's transfer. The stalled Send/Recv
// are the edges of a graph of hosts. What stood still lies on every edge: in each connected part whose hosts fall into
// two sides with edges only between them, the smaller side is named; where the sides are of one size, or there are
// three hosts in a ring, or only groups stalled, the evidence ends there and all are named. Our own; the idea that what
// many deviate in together is shared by them is the topology vote of our notes, section 7.4 rule 6. Pure.
// Cost O(paths x steps).

#ifndef LOCKSTEP_DETECTOR_LINKS_TRANSFER_STALL_H_
#define LOCKSTEP_DETECTOR_LINKS_TRANSFER_STALL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/links/transfer_table.h"
#include "detector/localization/step_finder.h"

namespace lockstep {

struct TransferStall {
  int64_t first_step = 0;  // of the steps that stood still
  int64_t last_step = 0;
  int64_t steps = 0;
  double seconds = 0;          // longer than usual steps, together
  double share = 0;            // of the time from the first of them on
  std::vector<int32_t> hosts;  // rising: the side that is named, or all that cannot be told apart
  bool told_apart = false;     // `hosts` are one side
  size_t stalled_paths = 0;
  size_t compared_paths = 0;
};

// At most one: what stalls in several steps is taken together. `host_of`: by rank. `explained`: channels, rising, whose
// transfers are slow for another reason. `min_cost`: see TransferStall::share. No stall: steps = 0.
TransferStall FindTransferStall(const TransferTable& table, const StepTable& steps, const std::vector<int32_t>& host_of,
                                const std::vector<int32_t>& explained, double min_cost);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_LINKS_TRANSFER_STALL_H_
