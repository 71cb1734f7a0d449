#include "detector/engine/findings_ledger.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "detector/engine/without_effect.h"
#include "detector/verdict/job_state.h"
#include "detector/verdict/remedy.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

void AddLedger(const TraceAnalysis& analysis, const FoundSlowness& slowness, const std::optional<StepShift>& shift,
               const CostLimit& limit, bool with_remedies, JobReport* report) {
  std::vector<Verdict>& verdicts = report->verdicts;
  const auto build = [&] {
    return BuildLedger(analysis.steps, verdicts, shift, [&](const std::vector<LedgerLine>& lines) {
      return GivenBackTogether(analysis, slowness, verdicts, lines);
    });
  };
  report->ledger = build();
  const bool may_be_idle = report->ledger.scale < 1;
  for (size_t round = 0; round < kMostRemedies && may_be_idle; ++round) {
    const std::optional<size_t> idle =
        LeastWithoutEffect(GivenBackLast(analysis, slowness, verdicts), report->ledger, limit, verdicts);
    if (!idle.has_value()) break;
    verdicts.erase(verdicts.begin() + static_cast<std::ptrdiff_t>(*idle));
    report->ledger = build();
  }
  report->state = StateWith(verdicts, report->state);
  const bool hide = report->ledger.scale < 1;
  std::vector<Remedy> remedies;
  if (with_remedies || hide) remedies = RankRemedies(analysis, slowness, verdicts, report->ledger);
  ShareCosts(report->ledger, &verdicts);
  std::optional<Verdict> unknown;
  if (shift.has_value() && report->state != JobState::kHung) {
    unknown = SlowForUnknownReason(analysis, *shift, verdicts, limit.of_new());
  }
  if (hide) HideCosts(report->ledger, remedies, &verdicts);
  if (with_remedies) report->remedies = std::move(remedies);
  if (!unknown.has_value()) return;
  report->state = StateWith({*unknown}, report->state);
  verdicts.push_back(*std::move(unknown));
}

}  // namespace lockstep
