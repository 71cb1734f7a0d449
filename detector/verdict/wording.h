// How ranks, communicators and durations are called in evidence, so that every sentence calls them the same. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_WORDING_H_
#define LOCKSTEP_DETECTOR_VERDICT_WORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/roster.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// "Rank 2 (host node-a, pid 41)".
std::string FullRankName(const Roster& roster, int32_t rank_slot);
// "rank 2", or "ranks 1, 2, 3 and 5 more".
std::string RankList(const Roster& roster, const std::vector<int32_t>& rank_slots);
// "communicator world", or "communicator 0x1f (2 members)" when it has no name.
std::string CommunicatorName(const Communicator& communicator);
// "43.1 ms", "5.2 s".
std::string Duration(double seconds);
// Those that are not empty, with blanks between them.
std::string Sentences(const std::vector<std::string>& sentences);

Culprit CulpritOf(const Roster& roster, int32_t rank_slot, double confidence);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_WORDING_H_
