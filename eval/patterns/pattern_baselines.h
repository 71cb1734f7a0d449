// Other methods on the same profiles. Each judges function by function over all workers, and takes the class from the
// function; functions of one class on the same workers are one answer. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_PATTERNS_PATTERN_BASELINES_H_
#define LOCKSTEP_EVAL_PATTERNS_PATTERN_BASELINES_H_

#include <vector>

#include "detector/patterns/pattern_fleet.h"
#include "eval/patterns/pattern_method.h"

namespace lockstep {

std::vector<PatternAnswer> JudgeByThreeSigma(const PatternFleet& fleet);
std::vector<PatternAnswer> JudgeByDbscan(const PatternFleet& fleet);
std::vector<PatternAnswer> JudgeByShareThatDiffers(const PatternFleet& fleet);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_PATTERNS_PATTERN_BASELINES_H_
