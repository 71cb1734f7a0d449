#include "detector/steps/anchor_period.h"

#include <algorithm>
#include <map>

#include "base/median.h"
#include "base/shares.h"

namespace lockstep {
namespace {

// Two periods and their ends: fewer are no repetition.
constexpr size_t kMinLong = 3;
// A long stretch holds a usual one and as much besides: one layer at least.
constexpr int64_t kTimesUsual = 2;
// Of so many anchors one may be lost, and it is still the same step.
constexpr size_t kTellsLost = 8;

// The lower middle one: of two stretches per step, one is long.
int64_t UsualLength(absl::Span<const int64_t> lengths) {
  std::vector<int64_t> ordered(lengths.begin(), lengths.end());
  return LowerMedian(&ordered);
}

}  // namespace

std::vector<char> LongStretches(absl::Span<const int64_t> lengths) {
  std::vector<char> is_long(lengths.size(), 0);
  if (lengths.empty()) return is_long;
  const int64_t usual = UsualLength(lengths);
  std::transform(lengths.begin(), lengths.end(), is_long.begin(),
                 [usual](int64_t length) { return static_cast<char>(length >= kTimesUsual * usual); });
  // In its first step a job warms up: all of it is long, and the next step begins behind.
  const auto first_usual = std::find(is_long.begin(), is_long.end(), 0);
  if (first_usual - is_long.begin() > 1) std::fill(is_long.begin(), first_usual - 1, 0);
  return is_long;
}

uint32_t AnchorsPerStep(absl::Span<const int64_t> lengths) {
  const std::vector<char> is_long = LongStretches(lengths);
  std::map<size_t, size_t> gaps;
  std::vector<int64_t> extra;
  size_t last = lengths.size();
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (is_long[i] == 0) continue;
    if (last < i) ++gaps[i - last];
    extra.push_back(lengths[i]);
    last = i;
  }
  if (extra.size() < kMinLong) return 1;
  const auto period =
      std::max_element(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  // A lost record makes one of many fewer.
  size_t as_many = 0;
  for (const auto& [gap, count] : gaps) {
    const size_t apart = gap > period->first ? gap - period->first : period->first - gap;
    as_many += apart * kTellsLost <= period->first ? count : 0;
  }
  const auto recurs = static_cast<double>(as_many) >= kAllButFew * static_cast<double>(extra.size() - 1);
  const auto usual = static_cast<double>(UsualLength(lengths));
  const double forward = static_cast<double>(UsualLength(extra)) - usual;
  const double step = forward + usual * static_cast<double>(period->first);
  return recurs && forward >= kMinorPart * step ? static_cast<uint32_t>(period->first) : 1;
}

}  // namespace lockstep
