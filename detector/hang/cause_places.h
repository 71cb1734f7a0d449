// At how many places the causes of a hang are: one thing breaks at a time, or two in a large job.
//
// A place is a whole host, or a single rank. Some ranks of a host, without the others, are what the end of a file looks
// like. Ranks of equal duty do equal things at equal times: several that do the same are at work. An operation that is
// a cause itself, a stuck transfer or a circle, is counted apart. Cost O(ranks + ranks of causes). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_CAUSE_PLACES_H_
#define LOCKSTEP_DETECTOR_HANG_CAUSE_PLACES_H_

#include "absl/types/span.h"
#include "detector/hang/hang.h"
#include "detector/model/trace.h"

namespace lockstep {

// As few as every twentieth host, or two where there are some hosts, and one operation. True of none.
bool CausesAreFew(const Trace& trace, absl::Span<const Hang> hangs);

// More than one, not few, and no host that all have in common: that one would be the cause.
bool CausesAreMany(const Trace& trace, absl::Span<const Hang> hangs);

// More hosts than one cause may lie in (many_named.h). Ranks inside of a transfer or a circle hold up one another.
bool IsOfManyHosts(const Trace& trace, const Hang& hang);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_CAUSE_PLACES_H_
