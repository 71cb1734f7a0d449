// Classes of verdicts in which somebody stands in a function: stacks of their ranks tell which. Pure.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_HANG_CLASSES_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_HANG_CLASSES_H_

#include <algorithm>
#include <iterator>

#include "absl/strings/string_view.h"

namespace lockstep {

inline constexpr absl::string_view kHangClasses[] = {"hang_not_entered", "hang_in_communication", "collective_mismatch",
                                                     "deadlock"};

inline bool IsHangClass(absl::string_view verdict_class) {
  return std::find(std::begin(kHangClasses), std::end(kHangClasses), verdict_class) != std::end(kHangClasses);
}

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_HANG_CLASSES_H_
