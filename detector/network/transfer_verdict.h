// What watched transfers say, as verdicts and as evidence for those of others.
//
// Impact: recorders' waits overlap (several chunks of a flow are under way at a time), so that their sum says what is
// slow, not what it costs. A cause costs at most what the steps grew by, and at most its excess on the rank with most.
// Pure.

#ifndef LOCKSTEP_DETECTOR_NETWORK_TRANSFER_VERDICT_H_
#define LOCKSTEP_DETECTOR_NETWORK_TRANSFER_VERDICT_H_

#include <string>
#include <vector>

#include "detector/model/roster.h"
#include "detector/network/transfer_watch.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// Of the job while it was watched.
struct StepImpact {
  double step_seconds = 0;  // 0 = unknown: then no cause costs anything
  double lost_seconds = 0;  // of a step, beyond the usual
};

// One verdict per cause that the slow flows share, cheap ones included; of a late GPU an observation per rank.
std::vector<Verdict> TransferVerdicts(const Roster& roster, const WatchedTransfers& watched, const StepImpact& impact);

// Adds what was watched to verdicts found otherwise: a verdict on the network that a cause agrees with gets its place,
// where that is named more exactly, and its evidence; one on a machine gets "not the network" where no flow was slow.
// Of `of_transfers`, those that were not used up that way and cost at least `min_cost` of the step are appended.
void MergeTransferVerdicts(const WatchedTransfers& watched, std::vector<Verdict> of_transfers, double min_cost,
                           std::vector<Verdict>* verdicts);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_TRANSFER_VERDICT_H_
