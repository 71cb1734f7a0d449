// Slow links, NICs, NVLinks and parts of the network, from transfer times.
//
// Each place that is slow (slow_places.h) is one verdict. One among more than a quarter of the job's hosts, of a group
// more than a quarter of its ranks, names nobody, nor does what may be built so. What it costs is told by a replay
// together with whatever else is slow (counterfactual_gain.h). The first estimate is the excess of the transfers that
// nothing overlaps, on the rank with most of it, over the step; and where steps before the onset are recorded, no more
// than what the step got longer by. Pure. Cost O(operations).

#ifndef LOCKSTEP_DETECTOR_NETWORK_LINK_VERDICT_H_
#define LOCKSTEP_DETECTOR_NETWORK_LINK_VERDICT_H_

#include <vector>

#include "detector/model/trace.h"
#include "detector/network/transfer_table.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/step_finder.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// A slow place. The verdict says all but the cost, which depends on what else is slow.
struct SlowLink {
  Verdict verdict;
  SlowTransfers transfers;
};

std::vector<SlowLink> FindSlowLinks(const Trace& trace, const TransferTable& table, const StepTable& steps);

// Transfers that stood still in single steps (transfer_stall.h), on paths that no slow link explains; at most one.
std::vector<Verdict> FindStalls(const Trace& trace, const TransferTable& table, const StepTable& steps,
                                const std::vector<SlowLink>& links, double min_cost);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_LINK_VERDICT_H_
