#include "detector/engine/without_effect.h"

#include <cstddef>

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

std::optional<size_t> LeastWithoutEffect(absl::Span<const double> last_seconds, const TimeLedger& ledger,
                                         const CostLimit& limit, absl::Span<const Verdict> verdicts) {
  std::optional<size_t> found;
  double least_effect = 0;
  size_t line = 0;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Verdict& verdict = verdicts[i];
    if (!CostsSteps(verdict)) continue;
    const double effect = ShareGivenBack(verdict, last_seconds[i], ledger.lines[line++], ledger.scale);
    const double least = limit.Of(verdict);
    const bool by_itself = AccusesNode(verdict) && verdict.cost.slowdown_fraction >= least;
    if (!by_itself || last_seconds[i] < 0 || effect >= CostLimit::kHoldingShare * least) continue;
    if (found.has_value() && effect > least_effect) continue;
    found = i;
    least_effect = effect;
  }
  return found;
}

}  // namespace lockstep
