// The names of what a trace holds, as reasons and culprits carry them. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_TRACE_NAMES_H_
#define LOCKSTEP_DETECTOR_VERDICT_TRACE_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"
#include "detector/verdict/wording.h"

namespace lockstep {

// Empty when the host is not known.
std::string HostNameOf(const Trace& trace, int32_t rank_index);
RankName NameOf(const Trace& trace, int32_t rank_index);
// In the order of `rank_indices`.
std::vector<int32_t> NumbersOf(const Trace& trace, const std::vector<int32_t>& rank_indices);
CommunicatorName CommunicatorNameOf(const Trace& trace, int32_t communicator);

Culprit TraceCulprit(const Trace& trace, int32_t rank_index, double confidence);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_TRACE_NAMES_H_
