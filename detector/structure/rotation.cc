#include "detector/structure/rotation.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

double RotationEntropy(std::vector<size_t> worst, size_t places) {
  const size_t most = std::min(worst.size(), places);
  if (most < 2) return 0;
  std::sort(worst.begin(), worst.end());
  double entropy = 0;
  for (auto begin = worst.begin(); begin != worst.end();) {
    const auto end = std::upper_bound(begin, worst.end(), *begin);
    const double share = static_cast<double>(end - begin) / static_cast<double>(worst.size());
    entropy -= share * std::log(share);
    begin = end;
  }
  return std::clamp(entropy / std::log(static_cast<double>(most)), 0.0, 1.0);
}

}  // namespace lockstep
