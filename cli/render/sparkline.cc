#include "cli/render/sparkline.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep {
namespace {

constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr int kHighest = 7;
constexpr int kMiddle = 3;

}  // namespace

std::string Sparkline(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string line;
  for (double value : values) {
    if (!std::isfinite(value)) {
      line += ' ';
      continue;
    }
    const double share = (value - low) / (high - low);
    line += kBars[high > low ? static_cast<int>(std::lround(share * kHighest)) : kMiddle];
  }
  return line;
}

}  // namespace lockstep
