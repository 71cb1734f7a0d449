// How far the clocks of a trace's hosts are apart.
//
// All members leave a synchronous collective at almost the same moment: the ends of the newest one that all recorded
// members of a communicator have finished are taken for one moment, and chains of communicators carry that from host to
// host. Good to how far apart members leave a collective (tens of microseconds, a millisecond at worst), once per link
// of the chain, and to what clocks drift since: enough for silences, not for work. Localization compares no two hosts.
// Cost O(operations + members). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_HOST_OFFSETS_H_
#define LOCKSTEP_DETECTOR_HANG_HOST_OFFSETS_H_

#include <cstdint>
#include <vector>

#include "detector/hang/frontier.h"

namespace lockstep {

// By host index.
struct HostOffsets {
  // Subtracted from a time of the host, it gives a time that is common to all hosts of one island.
  std::vector<int64_t> offset_ns;
  std::vector<int32_t> island;  // hosts that no chain connects are on different islands
};

HostOffsets AlignHosts(const Frontier& frontier);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HOST_OFFSETS_H_
