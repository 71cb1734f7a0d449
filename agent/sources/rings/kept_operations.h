// Operations of several looks at one ring put together, and made fewer where they are too many.

#ifndef LOCKSTEP_AGENT_SOURCES_RINGS_KEPT_OPERATIONS_H_
#define LOCKSTEP_AGENT_SOURCES_RINGS_KEPT_OPERATIONS_H_

#include "agent/sources/rings/ring_snapshot.h"

namespace lockstep {

// The finished operations and the counts of `later` behind those of `kept`; the stride of `kept` holds. Pure.
void AppendLater(const RingSnapshot& later, RingSnapshot& kept);

// Leaves out about half of the finished operations, counted in `thinned`: those whose sequence is no multiple of twice
// the stride. Sequences that a hostile writer has chosen to be multiples of everything do not escape: at the largest
// stride the newer half goes. Pure.
void ThinKept(RingSnapshot& kept);

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_SOURCES_RINGS_KEPT_OPERATIONS_H_
