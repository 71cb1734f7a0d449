// Which findings about one machine say that its side of the network is slow: by counters that stand out, or by a rule
// on error counters. What group_member.h narrows a slow group by, in files and while a job runs.
//
// Pure.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_NETWORK_SIGNS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_NETWORK_SIGNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "detector/counters/group_member.h"
#include "detector/counters/named_sign.h"
#include "detector/hardware/event_judge.h"

namespace lockstep {

// Both append nothing where the network is not what stands out.
void AddNetworkSign(const std::string& host, absl::Span<const NamedSign> signs, int64_t onset_ms,
                    std::vector<MemberSign>* found);
void AddNetworkSign(const HardwareFinding& finding, int64_t first_ms, std::vector<MemberSign>* found);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_NETWORK_SIGNS_H_
