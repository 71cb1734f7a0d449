// Whom the incidents of a job suspect: the ranks to look at when nobody names any.

#ifndef LOCKSTEP_COLLECTOR_DEMANDS_SUSPECT_RANKS_H_
#define LOCKSTEP_COLLECTOR_DEMANDS_SUSPECT_RANKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "proto/incident.pb.h"
#include "proto/query.pb.h"

namespace lockstep {

inline constexpr size_t kMaxSuspectRanks = 32;

// The culprits of `incidents` among `ranks`, or all ranks of a host that is one; lowest first, at most
// kMaxSuspectRanks. Those that are gone are none. Pure.
std::vector<int32_t> SuspectRanks(absl::Span<const wire::Incident> incidents, absl::Span<const wire::Rank> ranks);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_DEMANDS_SUSPECT_RANKS_H_
