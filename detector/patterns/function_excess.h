// Which functions make up what some workers, or all, take too long: for the reader of a finding. Pure.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_FUNCTION_EXCESS_H_
#define LOCKSTEP_DETECTOR_PATTERNS_FUNCTION_EXCESS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "detector/patterns/duty_order.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/pattern_comparison.h"
#include "detector/patterns/pattern_fleet.h"

namespace lockstep {

struct ExcessQuery {
  const PatternFleet& fleet;
  const DutyOrder& order;
  bool of_all = false;             // then nobody is a peer
  std::set<size_t> duties;         // whose workers count
  std::vector<char> named;         // by place
  std::set<int32_t> functions;     // those in question
  std::set<FunctionGroup> groups;  // and all of these
};

// At most kMostNamedFunctions, by what they take beyond usual, the most first.
std::vector<FunctionExcess> FindFunctionExcesses(const ExcessQuery& query);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_FUNCTION_EXCESS_H_
