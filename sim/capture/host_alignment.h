// How far the clocks of a recording's hosts are apart, to play them beside one another.
//
// AlignHosts (detector/hang/host_offsets.h) goes by collectives. Hosts that share none, such as the stages of a
// pipeline with a host each, are joined by transfers: both sides of one end at almost the same moment, unless a small
// one waits in a buffer. The middle one of all pairs of ranks between two islands counts. Good to a few milliseconds
// over collectives, and to a fraction of a step over transfers. Cost O(operations). Pure; thread-safe.

#ifndef LOCKSTEP_SIM_CAPTURE_HOST_ALIGNMENT_H_
#define LOCKSTEP_SIM_CAPTURE_HOST_ALIGNMENT_H_

#include "detector/hang/frontier.h"
#include "detector/hang/host_offsets.h"

namespace lockstep {

// Hosts that neither collectives nor transfers connect stay on different islands.
HostOffsets AlignPlayedHosts(const Frontier& frontier);

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_CAPTURE_HOST_ALIGNMENT_H_
