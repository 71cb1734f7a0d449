#include "detector/stats/median.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lockstep {
namespace {

// Budget of time: so few are sorted.
constexpr size_t kFew = 16;
constexpr int kMostRounds = 64;  // beyond them pivots were bad, by chance or by design

// The values for which `comes_first` holds to the front; how many they are.
template <typename Predicate>
size_t Partition(absl::Span<float> values, Predicate comes_first) {
  size_t first = 0;
  for (float& value : values) {
    const float here = value;
    value = values[first];
    values[first] = here;
    first += comes_first(here) ? 1 : 0;
  }
  return first;
}

float MedianOfThree(float a, float b, float c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

// Orders `values` as std::nth_element does.
void PlaceNth(absl::Span<float> values, size_t nth) {
  for (int round = 0; values.size() > kFew && round < kMostRounds; ++round) {
    const float pivot = MedianOfThree(values.front(), values[values.size() / 2], values.back());
    size_t below = Partition(values, [pivot](float value) { return value < pivot; });
    if (nth < below) {
      values = values.first(below);
      continue;
    }
    if (below == 0) {
      // The pivot is the least: all that equal it go, so that every round takes something away.
      below = Partition(values, [pivot](float value) { return value <= pivot; });
      if (nth < below) return;
    }
    values.remove_prefix(below);
    nth -= below;
  }
  std::nth_element(values.begin(), values.begin() + nth, values.end());
}

}  // namespace

double MedianOf(absl::Span<float> values) {
  const size_t half = values.size() / 2;
  PlaceNth(values, half);
  if (values.size() % 2 == 1) return values[half];
  return (static_cast<double>(values[half]) + *std::max_element(values.begin(), values.begin() + half)) / 2;
}

}  // namespace lockstep
