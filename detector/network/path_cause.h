// What slow paths share. Pure value.

#ifndef LOCKSTEP_DETECTOR_NETWORK_PATH_CAUSE_H_
#define LOCKSTEP_DETECTOR_NETWORK_PATH_CAUSE_H_

#include <cstdint>
#include <vector>

#include "detector/verdict/network_reasons.h"

namespace lockstep {

struct PathCause {
  PathCauseKind kind = PathCauseKind::kGroup;
  std::vector<int32_t> ranks;  // rising
  std::vector<int32_t> hosts;  // rising, but for kLink: in the direction of the transfer; all that are meant
  std::vector<int32_t> paths;  // that it explains: indices into `paths`
  int32_t predicted = 0;       // paths that would be slow by it
  bool told_apart = true;      // false: at fault is what some of the hosts have in common, and not known which of them
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_PATH_CAUSE_H_
