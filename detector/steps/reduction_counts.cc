#include "detector/steps/reduction_counts.h"

#include <algorithm>

#include "base/shares.h"

namespace lockstep {
namespace {

// Between stretches with such calls: one is no repetition.
constexpr size_t kMinGaps = 2;

// Calls lie in one of two, three, ... stretches, always of as many, and in hardly any other.
bool ComesWithEachOfSeveral(const std::vector<uint32_t>& calls) {
  const uint32_t most = calls.empty() ? 0 : *std::max_element(calls.begin(), calls.end());
  if (most == 0) return false;
  std::map<size_t, size_t> gaps;
  size_t last = calls.size(), all = 0, others = 0, others_with_calls = 0;
  for (size_t stretch = 0; stretch < calls.size(); ++stretch) {
    if (2 * calls[stretch] < most) {
      ++others;
      others_with_calls += calls[stretch] > 0 ? 1 : 0;
      continue;
    }
    if (last < stretch) {
      ++gaps[stretch - last];
      ++all;
    }
    last = stretch;
  }
  if (static_cast<double>(others_with_calls) > kFew * static_cast<double>(others)) return false;
  return all >= kMinGaps && std::any_of(gaps.begin(), gaps.end(), [all](const auto& gap) {
           return gap.first > 1 && static_cast<double>(gap.second) >= kAllButFew * static_cast<double>(all);
         });
}

}  // namespace

ReductionCounts::ReductionCounts(absl::Span<const CallKind> kinds, int32_t family, size_t stretches)
    : kinds_(kinds), family_(family) {
  for (const CallKind& kind : kinds) {
    if (kind.reduces && !kind.slight) of_family_[kind.family].assign(stretches, 0);
  }
}

void ReductionCounts::Note(size_t kind, size_t stretch) {
  if (stretch != stretch_) {
    stretch_ = stretch;
    is_end_ = true;
  }
  const CallKind& call = kinds_[kind];
  const auto found = of_family_.find(call.family);
  const bool reduces = found != of_family_.end() && call.family != family_;
  is_end_ = is_end_ && (call.slight || reduces);
  if (call.slight || found == of_family_.end() || (is_end_ && stretch == 0)) return;
  ++found->second[is_end_ ? stretch - 1 : stretch];
}

bool ReductionCounts::TellParts() const {
  return std::any_of(of_family_.begin(), of_family_.end(),
                     [](const auto& family) { return ComesWithEachOfSeveral(family.second); });
}

}  // namespace lockstep
