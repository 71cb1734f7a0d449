#include "detector/stats/sampled_mean.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lockstep {
namespace {

// Of fewer no deviation is known.
constexpr size_t kMinValues = 3;
// Standard errors: 6 in 100,000 of a normal lie beyond.
constexpr double kSurely = 4;

// The bits of `number` behind the point, the lowest first.
double Mirrored(uint64_t number) {
  double value = 0;
  for (double weight = 0.5; number > 0; number >>= 1, weight /= 2) value += static_cast<double>(number & 1) * weight;
  return value;
}

}  // namespace

std::vector<size_t> SpreadOrder(size_t count, size_t most) {
  std::vector<size_t> order;
  std::vector<char> taken(count, 0);
  // From 1 on: the first is the one in the middle. As many as the next power of two reach every place.
  for (uint64_t number = 1; order.size() < std::min(count, most); ++number) {
    const auto place = static_cast<size_t>(Mirrored(number) * static_cast<double>(count));
    if (taken[place] == 0) order.push_back(place);
    taken[place] = 1;
  }
  return order;
}

void SampledMean::Add(double value) {
  ++size_;
  const double from_mean = value - mean_;
  mean_ += from_mean / static_cast<double>(size_);
  squares_ += from_mean * (value - mean_);
}

bool SampledMean::Settled(double limit, size_t population) const {
  if (size_ >= population) return true;
  if (size_ < kMinValues) return false;
  const auto n = static_cast<double>(size_);
  return std::abs(mean_ - limit) > kSurely * std::sqrt(squares_ / (n - 1) / n);
}

}  // namespace lockstep
