// Slow links, NICs, NVLinks and parts of the network, from transfer times.
//
// A path is slow from the step on at which its ratio (transfer_table.h) makes a significant jump, or throughout when it
// lies above its like from the beginning: by a quarter and by six deviations of the noise of all paths. One or two
// steps before a jump are enough of a past if all after it are far above them: chance makes transfers longer, never
// shorter. What the slow paths share is voted on (path_vote.h). What it costs is told by a replay together with
// whatever else is slow (healing_gain.h). The first estimate is the excess of the transfers that nothing overlaps, on
// the rank with most of it, over the step; and where steps before the onset are recorded, no more than what the step
// got longer by. Pure. Cost O(operations).

#ifndef LOCKSTEP_DETECTOR_LINKS_LINK_VERDICT_H_
#define LOCKSTEP_DETECTOR_LINKS_LINK_VERDICT_H_

#include <vector>

#include "detector/links/path_vote.h"
#include "detector/links/transfer_table.h"
#include "detector/localization/healing_gain.h"
#include "detector/localization/slow_transfers.h"
#include "detector/localization/step_finder.h"
#include "detector/trace/trace.h"
#include "detector/verdict.h"

namespace lockstep {

struct SlowPath {
  bool slow = false;
  size_t first_step = 0;
  double ratio = 1;           // median from the first step on
  bool against_past = false;  // the ratio is to the steps before the first one, not to other paths
  // Per step before the first one, against what is usual. Negative where most paths of one duty became slow together:
  // then what is usual is slow as well, and the path's own past is what it costs against.
  double excess_before_seconds = 0;
};

// By path of the table.
std::vector<SlowPath> FindSlowPaths(const TransferTable& table);

// What the slow paths share. The verdict says all but the cost, which depends on what else is slow.
struct SlowLink {
  Verdict verdict;
  SlowTransfers transfers;
};

std::vector<SlowLink> FindSlowLinks(const Trace& trace, const TransferTable& table, const StepTable& steps);

// Fills in the cost.
void TellCost(const HealingGain& gain, Verdict* verdict);

// Transfers that stood still in single steps (transfer_stall.h); at most one.
std::vector<Verdict> FindStalls(const Trace& trace, const TransferTable& table, const StepTable& steps,
                                double min_cost);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_LINKS_LINK_VERDICT_H_
