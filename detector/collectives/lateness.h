// Who came last to a synchronous operation, without any clock: all members leave together, so that the member that
// spent the least time inside entered last, and the others waited for it.
//
// Pure function; O(members).

#ifndef LOCKSTEP_DETECTOR_COLLECTIVES_LATENESS_H_
#define LOCKSTEP_DETECTOR_COLLECTIVES_LATENESS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "detector/collectives/operation_history.h"

namespace lockstep {

struct Lateness {
  int32_t last_member = -1;    // ties: the lowest
  int64_t transfer_ns = 0;     // time that the last arriver spent inside: nobody was being waited for any more
  int64_t median_wait_ns = 0;  // of the other members, for the last one
};

// Nothing when a member's time inside is unknown: the one that is missing may be the one that was late.
std::optional<Lateness> FindLateness(absl::Span<const Participation> members);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COLLECTIVES_LATENESS_H_
