// What counters of collectives prove of other ranks, though each was read at another moment.
//
// All members have entered a synchronous collective that one of them has left. A report shows where its rank stood when
// it was made. It proves something only if it is newer than what it is held against, by `freshness_ns` or more. All
// times are nanoseconds of the collector's clock; sequence numbers count collectives from 1. Pure. Cost O(members of
// the communicator), O(communicators of the rank).

#ifndef LOCKSTEP_DETECTOR_HANG_COLLECTIVE_COUNTERS_H_
#define LOCKSTEP_DETECTOR_HANG_COLLECTIVE_COUNTERS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "detector/model/roster.h"

namespace lockstep {

// The highest collective that all members have entered; 0 or -1 = none. Records tell it, or counters of members that
// left a collective in which others are. Either must be older than the newest report of those inside. `ranks`: of the
// roster.
int64_t CountedEnteredByAll(const Communicator& communicator, absl::Span<const RankProcess> ranks,
                            int64_t freshness_ns);

// Whether the rank's counters stopped before collectives that others left long ago: its recorder tells no more. As in
// files, one missing collective may be a lost record. A rank inside a collective that nobody has left stands there for
// sure. `communicators`: of the roster.
bool CountersStopped(const RankProcess& rank, absl::Span<const Communicator> communicators, int64_t freshness_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_COLLECTIVE_COUNTERS_H_
