// What a verdict says of each kind of cause that paths have in common. Pure; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_NETWORK_PATH_WORDS_H_
#define LOCKSTEP_DETECTOR_NETWORK_PATH_WORDS_H_

#include "detector/network/path_vote.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct PathWords {
  PathCauseKind kind;
  VerdictClass verdict_class;
  VerdictScope scope;
  const char* what;  // which transfers; one %s for the subject
};

const PathWords& WordsOf(PathCauseKind kind);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_NETWORK_PATH_WORDS_H_
