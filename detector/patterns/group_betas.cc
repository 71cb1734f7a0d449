#include "detector/patterns/group_betas.h"

#include "absl/types/span.h"

namespace lockstep {

GroupBetas SumGroups(const PatternFleet& fleet, const DutyOrder& order) {
  GroupBetas sums;
  for (std::vector<float>& one : sums) one.assign(order.workers.size(), 0);
  for (const FleetFunction& function : fleet.functions()) {
    std::vector<float>& sum = sums[static_cast<size_t>(function.group)];
    for (const PatternCell& cell : function.cells) sum[order.places[cell.worker]] += cell.beta;
  }
  return sums;
}

std::vector<float> BetasOf(const GroupBetas& groups, FunctionGroup first, FunctionGroup last, const DutyOrder& order,
                           size_t duty) {
  std::vector<float> sums(order.size_of(duty), 0);
  for (auto group = static_cast<size_t>(first); group <= static_cast<size_t>(last); ++group) {
    const absl::Span<const float> beta = OfDuty(order, groups[group], duty);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += beta[i];
  }
  return sums;
}

std::vector<float> KernelBetas(const GroupBetas& groups, const DutyOrder& order, size_t duty) {
  return BetasOf(groups, FunctionGroup::kMatrixProduct, FunctionGroup::kOtherKernel, order, duty);
}

}  // namespace lockstep
