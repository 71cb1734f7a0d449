// Which class and scope a verdict has, by what slow paths have in common. Pure; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_NETWORK_PATH_CLASS_H_
#define LOCKSTEP_DETECTOR_NETWORK_PATH_CLASS_H_

#include "detector/verdict/network_reasons.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct PathClass {
  PathCauseKind kind;
  VerdictClass verdict_class;
  VerdictScope scope;
};

const PathClass& ClassOf(PathCauseKind kind);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_PATH_CLASS_H_
