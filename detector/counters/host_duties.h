// Machines of equal duty, where operation records tell which: their ranks are of the same classes (detector/model).
//
// Pure. Cost O(ranks log ranks).

#ifndef LOCKSTEP_DETECTOR_COUNTERS_HOST_DUTIES_H_
#define LOCKSTEP_DETECTOR_COUNTERS_HOST_DUTIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "detector/model/roles.h"
#include "detector/model/trace.h"

namespace lockstep {

// A number from 0 for each of `hosts`, as PeerOptions::duty_of_host wants them. Empty = the records do not help: not
// all of the hosts are in them, or a duty has fewer than kFewestHostsOfDuty machines, too few to be each other's peers.
std::vector<int32_t> DutiesOfHosts(const Trace& trace, const JobRoles& roles, absl::Span<const std::string> hosts);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_HOST_DUTIES_H_
