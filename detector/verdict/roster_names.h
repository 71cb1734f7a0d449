// The names of ranks of a running job, as reasons and culprits carry them. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_ROSTER_NAMES_H_
#define LOCKSTEP_DETECTOR_VERDICT_ROSTER_NAMES_H_

#include <cstdint>
#include <vector>

#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"
#include "detector/verdict/wording.h"

namespace lockstep {

RankName NameOf(const Roster& roster, int32_t rank_slot);
// In the order of `rank_slots`.
std::vector<int32_t> NumbersOf(const Roster& roster, const std::vector<int32_t>& rank_slots);

Culprit CulpritOf(const Roster& roster, int32_t rank_slot, double confidence);

// Adds rank and process to culprits that are GPUs, where the job has one rank on them.
std::vector<Verdict> WithRanksOfGpus(const Roster& roster, std::vector<Verdict> verdicts);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_ROSTER_NAMES_H_
