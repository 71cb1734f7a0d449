// Deaths as verdicts: who died first, of what, in which operation, and who followed. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_DEATH_VERDICT_H_
#define LOCKSTEP_DETECTOR_HANG_DEATH_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/hang/first_death.h"
#include "detector/hardware/evidence_log.h"
#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// What of the hangs that were found is due to deaths. Verdicts about those who only followed go; those about the first
// say how they ended, and blame the program for what it did by itself. A death by a signal from outside is told once
// the others have outlived it for as long as launchers take to end them all: until then it may be a job that is
// stopped.
void SettleDeaths(const Roster& roster, const Deaths& deaths, int64_t watermark_ns, std::vector<Verdict>* verdicts);

// Of a job of which nobody is left and that was not stopped. REQUIRES: deaths.any().
Verdict OfDeath(const Roster& roster, const Deaths& deaths, const EvidenceLog& log, int64_t watermark_ns);

// What the end of its job adds to a hang that held until then.
void AddDeath(const Roster& roster, const Deaths& deaths, Verdict* hang);

// How a job ended of which nobody is left, in a sentence or two.
std::string EndNote(const Roster& roster, const Deaths& deaths);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_DEATH_VERDICT_H_
