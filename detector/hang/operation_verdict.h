// Verdicts on the operation that a hang is about, where no rank is at fault by what it does alone: a transfer that does
// not end, calls that never meet, members of which nothing is recorded. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_OPERATION_VERDICT_H_
#define LOCKSTEP_DETECTOR_HANG_OPERATION_VERDICT_H_

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"
#include "detector/verdict/reason.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// An accusation of what costs all of the job.
Verdict BeginHang(VerdictScope scope, VerdictClass verdict_class, Advice advice);
// The same, of which nobody is accused.
Verdict ObserveHang(VerdictClass verdict_class);
void SayOfHang(Reason reason, Verdict* verdict);
// How many wait, for how long and who; in a watched job since when.
void SayVictims(const Frontier& frontier, const Hang& hang, Verdict* verdict);

Verdict OfUnrecorded(const Frontier& frontier, const Hang& hang);
Verdict OfStuckTransfer(const Frontier& frontier, const Hang& hang);
// Of an operation that somebody holds, and the records do not show who: accuses nobody.
Verdict OfUnknownHolder(const Frontier& frontier, const Hang& hang);
// Of calls that differ, or of operations entered in different orders.
Verdict OfSoftware(const Frontier& frontier, const Hang& hang);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_OPERATION_VERDICT_H_
