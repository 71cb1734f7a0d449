// What a conversion left out without refusing the report: things that a newer agent may say or a driver may get wrong.
//
// Pure value; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_CONVERT_LOSSES_H_
#define LOCKSTEP_COLLECTOR_CONVERT_CONVERT_LOSSES_H_

#include <cstdint>

namespace lockstep {

struct ConvertLosses {
  uint64_t unknown_enums = 0;       // numbers of enums that this version does not know, read as "unknown"
  uint64_t unknown_metrics = 0;     // samples whose metric is not in the catalog
  uint64_t non_finite_values = 0;   // samples that are NaN or infinite
  uint64_t unranked_processes = 0;  // processes without a global rank: nothing can be said about them
  uint64_t odd_ras_claims = 0;      // about ranks that cannot be members of the communicator
  uint64_t odd_places = 0;          // of hosts: unknown or repeated kinds, names that may not be, too many
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_CONVERT_LOSSES_H_
