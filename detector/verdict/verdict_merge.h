// Verdicts that were found on different ways put together: one verdict per cause.
//
// What blames somebody stands; what merely observes a machine (its counters are unusual, its log has complaints) is
// evidence for the verdict that blames it, and never keeps it away. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_VERDICT_MERGE_H_
#define LOCKSTEP_DETECTOR_VERDICT_VERDICT_MERGE_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// True when acting on it costs somebody something: machine, network or software is blamed.
bool Blames(const Verdict& verdict);

// Appends those of `found` that say something new to `verdicts`. One that blames is left out when another verdict
// blames one of its culprits already, one that does not when any verdict is about one of them. An observation of a
// machine that a verdict blames becomes evidence of that verdict, whichever came first.
void MergeVerdicts(const std::vector<Verdict>& found, std::vector<Verdict>* verdicts);

// What hosts say of themselves, put beside the verdicts about the job. A host has one cause: the one that `stands`
// already stays, else the one that the job shows, and a finding about the same host is then left to AddCounterFindings.
// But of what a host says of itself, what it only observes gives way to what is broken, although it stood first.
// A verdict that names a rank is more exact than its host's finding: it stays, and a hang of a broken GPU is called so.
void MergeFindings(std::vector<Verdict> findings, absl::FunctionRef<bool(const Verdict&)> stands,
                   std::vector<Verdict>* verdicts);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_VERDICT_MERGE_H_
