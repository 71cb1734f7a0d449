// What goes wrong in simulated profiles: eighty kinds, as (class, function, on some or on all).
//
// On some workers it is mostly hardware or a host, on all of them software or configuration; the proportion of EROICA's
// 80 hard cases (arXiv 2506.08528) was about one half each. Immutable.

#ifndef LOCKSTEP_SIM_PATTERNS_PATTERN_KINDS_H_
#define LOCKSTEP_SIM_PATTERNS_PATTERN_KINDS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/function_kind.h"

namespace lockstep {

// How a fault shows.
enum class PatternEffect : uint8_t {
  kMoreCalls,     // the function is called more often
  kLongerCalls,   // each call takes longer
  kSlowGpu,       // all GPU compute of the worker takes longer
  kSlowHost,      // all that its host does, unevenly
  kSlowTransfer,  // of some: the collective of a group of them; the others wait at the next one
};

struct PatternKind {
  PatternClass pattern_class;
  bool of_all;
  FunctionKind kind;     // of the function
  const char* function;  // "" = many
  PatternEffect effect;
  double least;  // what it adds, as a share of a healthy step
  double most;
};

// Eighty.
absl::Span<const PatternKind> AllPatternKinds();

}  // namespace lockstep

#endif  // LOCKSTEP_SIM_PATTERNS_PATTERN_KINDS_H_
