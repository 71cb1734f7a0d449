#include "detector/counters/change_evidence.h"

#include <algorithm>

namespace lockstep {

void ChangeEvidence::Add(double score, int64_t time_ms, const EvidenceLimits& limits) {
  for (int side = 0; side < kSides; ++side) {
    const double toward = side == 0 ? score : -score;
    const double gross = std::clamp(kGross * toward - kGross * kGross / 2, -kGross * kGross / 2, limits.tick);
    const double subtle = std::clamp(toward - 0.5, -kRecovery, kSubtleStep * limits.tick);
    if (gross_[side] <= 0 && subtle_[side] <= 0) onset_ms_[side] = time_ms;
    gross_[side] = static_cast<float>(std::clamp(gross_[side] + gross, 0.0, limits.total));
    subtle_[side] = static_cast<float>(std::clamp(subtle_[side] + subtle, 0.0, limits.total));
  }
}

void ChangeEvidence::Clear() {
  for (int side = 0; side < kSides; ++side) gross_[side] = subtle_[side] = 0;
}

double ChangeEvidence::Of(int side) const { return std::max<double>(gross_[side], kSubtleWeight * subtle_[side]); }

double ChangeEvidence::Most() const { return std::max(Of(0), Of(1)); }

}  // namespace lockstep
