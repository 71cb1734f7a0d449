// Which number of the job each member of a group has, also where it left no record. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_MEMBER_NUMBERS_H_
#define LOCKSTEP_DETECTOR_HANG_MEMBER_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "detector/model/trace.h"

namespace lockstep {

// By communicator rank: the number of the rank; of a member without records, which lie at a constant distance, where
// the others tell that, or else the one that is missing from the job; -1 = not known. Cost O(members).
std::vector<int32_t> MemberNumbers(const Trace& trace, int32_t communicator);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_MEMBER_NUMBERS_H_
