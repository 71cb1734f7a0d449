// Kinds of calls: what groups do, and which groups. Stateless; thread-safe.

#ifndef LOCKSTEP_DETECTOR_STEPS_KINDS_OF_CALLS_H_
#define LOCKSTEP_DETECTOR_STEPS_KINDS_OF_CALLS_H_

#include <cstddef>

#include "detector/model/roles.h"
#include "detector/model/trace.h"

namespace lockstep {

// Number of (group family, operation) below roles.families * kOperationKinds.
inline constexpr size_t kOperationKinds = 12;
inline size_t KindOf(const JobRoles& roles, const TraceOperation& operation) {
  const auto family = static_cast<size_t>(roles.communicators[static_cast<size_t>(operation.communicator)].family);
  return family * kOperationKinds + static_cast<size_t>(operation.kind);
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_KINDS_OF_CALLS_H_
