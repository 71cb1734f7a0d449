// What kind of trouble the counters of a machine speak for.
//
// A table of metrics and directions, the more specific first. Pure.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_COUNTER_CLASS_H_
#define LOCKSTEP_DETECTOR_COUNTERS_COUNTER_CLASS_H_

#include <string>

#include "absl/types/span.h"
#include "detector/counters/named_sign.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// `signs` of one machine, the strongest first. kCounterOutlier = they do not say.
VerdictClass ClassOf(absl::Span<const NamedSign> signs);

// The same of a machine in a group that transfers slowly; kCounterOutlier = its network is not what stands out. A PCIe
// link that is too slow for the NIC shows as pause frames, and so does whatever else makes a machine receive slowly: of
// a group, no more than that is known.
VerdictClass NetworkClassOf(absl::Span<const NamedSign> signs);

// Whether it is of a NIC or a link.
bool IsNetwork(VerdictClass verdict_class);

// The device that the strongest sign and those beside it are of; "" = not one.
std::string DeviceOf(absl::Span<const NamedSign> signs);

// The class that operation records found, made more precise by the cause that counters found: a slow GPU by a lowered
// clock or a degraded PCIe link, a slow host by stalled storage.
VerdictClass Refined(VerdictClass by_records, VerdictClass by_counters);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_COUNTER_CLASS_H_
