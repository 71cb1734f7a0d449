// delay_matrix.h once more, flow by flow and from the words of its header: slow and obvious.
//
// What slow flows have in common is not judged here: the vote has tests of its own. Pure. Cost O(flows^2).

#ifndef LOCKSTEP_DETECTOR_TESTING_REFERENCE_DELAYS_H_
#define LOCKSTEP_DETECTOR_TESTING_REFERENCE_DELAYS_H_

#include <cstdint>
#include <vector>

#include "detector/network/delay_matrix.h"

namespace lockstep {

struct ReferenceDelays {
  DelayJudgement::Kind kind = DelayJudgement::Kind::kAbstained;
  std::vector<bool> slow;     // by flow
  std::vector<int32_t> late;  // ranks, rising
};

ReferenceDelays JudgeDelaysSlowly(const std::vector<TransferFlow>& flows, const std::vector<int32_t>& host_of);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_REFERENCE_DELAYS_H_
