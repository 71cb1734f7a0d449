// Machines that stand out at the same time, each in its own way, and more of them than one cause has.
//
// Who stands out is told by the others being alike. Where more than a few machines (verdict/many_named.h) do at one
// time, the others are not, and nothing is told about any of them. Machines that go the same way are a common cause
// (peer_detector.h), and silence is no way of standing out. Load of their own makes no crowd, but tells nothing in one.
// Pure. O(n log n) for n cases.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_CROWD_H_
#define LOCKSTEP_DETECTOR_COUNTERS_CROWD_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "detector/counters/case_record.h"

namespace lockstep {

// Hosts of `cases` (one of each host) that are in a crowd of `machines`.
std::set<int32_t> HostsInCrowds(absl::Span<const HistoryCase* const> cases, size_t machines);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_CROWD_H_
