#include "eval/report/figures.h"

namespace lockstep {

Spread SpreadOf(const std::vector<double>& values) {
  Spread spread;
  spread.count = static_cast<int64_t>(values.size());
  spread.median = Percentile(values, 0.5);
  spread.p95 = Percentile(values, 0.95);
  spread.most = Percentile(values, 1);
  return spread;
}

Mean MeanOf(const std::vector<std::vector<double>>& groups) {
  Mean mean;
  mean.value = MeanOfGroupMeans(groups);
  mean.interval = BootstrapInterval(groups);
  for (const std::vector<double>& group : groups) mean.count += static_cast<int64_t>(group.size());
  return mean;
}

}  // namespace lockstep
