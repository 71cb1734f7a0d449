#include "detector/engine/without_effect.h"

#include <cstddef>
#include <utility>

#include "detector/engine/time_ledger.h"

namespace lockstep {
namespace {

// Of the step time since its onset, that removing a finding gives back last. `line`: of all steps.
double ShareGivenBack(const Verdict& verdict, double last_seconds, const LedgerLine& line, double scale) {
  const double by_itself = verdict.cost.slowdown_fraction;
  // Where the job has lost nothing, lines tell nothing.
  if (line.seconds <= 0 || scale <= 0) return last_seconds > 0 ? by_itself : 0;
  return by_itself * last_seconds * scale / line.seconds;
}

}  // namespace

void DropWithoutEffect(absl::Span<const double> last_seconds, const TimeLedger& ledger, const CostLimit& limit,
                       std::vector<Verdict>* verdicts) {
  std::vector<Verdict> kept;
  size_t line = 0;
  for (size_t i = 0; i < verdicts->size(); ++i) {
    Verdict& verdict = (*verdicts)[i];
    const LedgerLine of = CostsSteps(verdict) ? ledger.lines[line++] : LedgerLine{};
    const double least = limit.Of(verdict);
    const bool by_itself = AccusesNode(verdict) && CostsSteps(verdict) && verdict.cost.slowdown_fraction >= least;
    const bool replayed = last_seconds[i] >= 0;
    const bool has_effect =
        ShareGivenBack(verdict, last_seconds[i], of, ledger.scale) >= CostLimit::kHoldingShare * least;
    if (!by_itself || !replayed || has_effect) kept.push_back(std::move(verdict));
  }
  *verdicts = std::move(kept);
}

}  // namespace lockstep
