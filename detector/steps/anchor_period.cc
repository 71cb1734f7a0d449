#include "detector/steps/anchor_period.h"

#include <algorithm>
#include <map>

#include "base/shares.h"

namespace lockstep {
namespace {

// Two periods and their ends: fewer are no repetition.
constexpr size_t kMinLong = 3;
// A long stretch holds the calls of a usual one and as many besides: those of one layer at least.
constexpr uint32_t kTimesUsual = 2;

// The lower one: of two stretches per step, one is long.
uint32_t LowerMedian(absl::Span<const uint32_t> values) {
  std::vector<uint32_t> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace

std::vector<char> LongStretches(absl::Span<const uint32_t> calls) {
  std::vector<char> is_long(calls.size(), 0);
  if (calls.empty()) return is_long;
  const uint32_t usual = LowerMedian(calls);
  std::transform(calls.begin(), calls.end(), is_long.begin(),
                 [usual](uint32_t count) { return static_cast<char>(count >= kTimesUsual * usual); });
  return is_long;
}

uint32_t AnchorsPerStep(absl::Span<const uint32_t> calls) {
  const std::vector<char> is_long = LongStretches(calls);
  std::map<size_t, size_t> gaps;
  std::vector<uint32_t> extra;
  size_t last = calls.size();
  for (size_t i = 0; i < calls.size(); ++i) {
    if (is_long[i] == 0) continue;
    if (last < i) ++gaps[i - last];
    extra.push_back(calls[i]);
    last = i;
  }
  if (extra.size() < kMinLong) return 1;
  const auto period =
      std::max_element(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto recurs = static_cast<double>(period->second) >= kAllButFew * static_cast<double>(extra.size() - 1);
  const double usual = LowerMedian(calls);
  const double forward = LowerMedian(extra) - usual;
  const double step = forward + usual * static_cast<double>(period->first);
  return recurs && forward >= kMinorPart * step ? static_cast<uint32_t>(period->first) : 1;
}

}  // namespace lockstep
