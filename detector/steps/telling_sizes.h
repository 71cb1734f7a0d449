// Whether the size of a call says which call of the program it is.
//
// Most collectives come with a few sizes, each a place in the step. Replicas that reduce their gradients bucket by
// bucket use more of them, one per bucket, and each is followed by the same next one, over and over. What a batch, its
// sequences or the routing of tokens decide are many sizes as well, but these recur by chance only, in any order, or
// last for a step. Pure. Cost O(n log n).

#ifndef LOCKSTEP_DETECTOR_STEPS_TELLING_SIZES_H_
#define LOCKSTEP_DETECTOR_STEPS_TELLING_SIZES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace lockstep {

// `bytes`: of one rank's calls of one kind in groups of one family, oldest first.
bool SizesTell(absl::Span<const uint64_t> bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_TELLING_SIZES_H_
