// What stands out, before it is known what it means: units (functions, or groups of functions that are one thing) that
// take too long on some workers of a duty or on all of them. Pure.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_ABNORMAL_UNITS_H_
#define LOCKSTEP_DETECTOR_PATTERNS_ABNORMAL_UNITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/patterns/duty_order.h"
#include "detector/patterns/function_group.h"
#include "detector/patterns/group_betas.h"
#include "detector/patterns/pattern_comparison.h"
#include "detector/patterns/pattern_fleet.h"

namespace lockstep {

struct AbnormalUnit {
  FunctionGroup group = FunctionGroup::kOtherHost;
  int32_t function = -1;  // -1 = the whole group
  size_t duty = 0;
  bool of_all = false;
  std::vector<uint32_t> places;  // of the order; empty for all
  double beta = 0;
  double usual_beta = 0;
  double distance = 0;
  double threshold = 0;

  double excess() const { return beta - usual_beta; }
};

std::vector<AbnormalUnit> FindAbnormalUnits(const PatternFleet& fleet, const DutyOrder& order, const GroupBetas& groups,
                                            const ComparisonOptions& options);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_ABNORMAL_UNITS_H_
