// What NCCL's RAS service says, beside what the records of operations show of a hang.
//
// The records come first: RAS confirms them, is quoted where it names others, and decides between candidates that the
// records cannot tell apart. It never adds an accusation here. Pure.

#ifndef LOCKSTEP_DETECTOR_HARDWARE_RAS_EVIDENCE_H_
#define LOCKSTEP_DETECTOR_HARDWARE_RAS_EVIDENCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/hardware/ras_memory.h"
#include "detector/model/roster.h"
#include "detector/verdict/host_reasons.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

inline constexpr size_t kMaxRasQuotes = 3;  // in one verdict

// What RAS said, as old as it is at `watermark_ns`.
RasSays SaidBy(const Roster& roster, const RasStanding& standing, int64_t watermark_ns);

// The slot of the rank that a claim is about; -1 = it is not in the roster.
int32_t RankSlotOf(const Roster& roster, const RasClaim& claim);

// Adds at most kMaxRasQuotes sentences to each of `hangs`, and keeps those culprits of a stuck operation that RAS names
// as gone, as failed or, twice in a row, as behind, where that leaves at most half of them.
void AddRasEvidence(const Roster& roster, const RasMemory& memory, int64_t watermark_ns, std::vector<Verdict>* hangs);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HARDWARE_RAS_EVIDENCE_H_
