// How ranks and communicators of a trace are called in evidence, so that every sentence calls them the same. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_TRACE_WORDING_H_
#define LOCKSTEP_DETECTOR_VERDICT_TRACE_WORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// Empty when the host is not known.
std::string HostNameOf(const Trace& trace, int32_t rank_index);
// "Rank 2 (host node-a)".
std::string TraceRankName(const Trace& trace, int32_t rank_index);
// "rank 2", or "ranks 1, 2, 3 and 5 more".
std::string TraceRankList(const Trace& trace, const std::vector<int32_t>& rank_indices);
std::string RankNumberList(std::vector<int32_t> ranks);
// "communicator 0x1f (dp, 8 members)".
std::string TraceCommunicatorName(const Trace& trace, int32_t communicator);

Culprit TraceCulprit(const Trace& trace, int32_t rank_index, double confidence);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_TRACE_WORDING_H_
