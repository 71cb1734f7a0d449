#include "detector/engine/without_effect.h"

#include <cstddef>
#include <utility>

#include "detector/engine/time_ledger.h"

namespace lockstep {

void DropWithoutEffect(absl::Span<const double> last_seconds, const TimeLedger& ledger, const CostLimit& limit,
                       std::vector<Verdict>* verdicts) {
  std::vector<Verdict> kept;
  size_t line = 0;
  for (size_t i = 0; i < verdicts->size(); ++i) {
    Verdict& verdict = (*verdicts)[i];
    const double seconds = CostsSteps(verdict) ? ledger.lines[line++].seconds / ledger.scale : 0;
    const double share = verdict.cost.slowdown_fraction, least = limit.Of(verdict);
    const bool by_itself = AccusesNode(verdict) && share >= least;
    const bool replayed = seconds > 0 && last_seconds[i] >= 0;
    const bool has_effect = !replayed || share * last_seconds[i] / seconds >= CostLimit::kHoldingShare * least;
    if (!by_itself || has_effect) kept.push_back(std::move(verdict));
  }
  *verdicts = std::move(kept);
}

}  // namespace lockstep
