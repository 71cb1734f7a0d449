#include "detector/structure/structural_verdicts.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "detector/stats/robust.h"
#include "detector/structure/expert_load.h"
#include "detector/structure/imbalance.h"
#include "detector/structure/job_change.h"
#include "detector/structure/sequence_imbalance.h"
#include "detector/structure/stage_imbalance.h"

namespace lockstep {
namespace {

bool OfTheJob(VerdictClass verdict_class) {
  return verdict_class == VerdictClass::kJobRegression || verdict_class == VerdictClass::kDrift ||
         verdict_class == VerdictClass::kPause;
}

// Stalls that go round are of the program.
VerdictScope ScopeOf(VerdictClass verdict_class) {
  if (verdict_class == VerdictClass::kHostSlow) return VerdictScope::kSoftware;
  return OfTheJob(verdict_class) ? VerdictScope::kJob : VerdictScope::kStructural;
}

Advice AdviceOn(VerdictClass verdict_class, bool planned) {
  if (planned) return Advice::kNone;
  if (verdict_class == VerdictClass::kJobRegression || verdict_class == VerdictClass::kHostSlow)
    return Advice::kCheckSoftware;
  return OfTheJob(verdict_class) ? Advice::kObserve : Advice::kRebalance;
}

}  // namespace

Verdict StructuralVerdict(StructuralFinding finding, double step_seconds) {
  Verdict verdict = Verdict::Accusation(ScopeOf(finding.verdict_class), finding.verdict_class);
  verdict.first_step = finding.first_step;
  verdict.last_step = finding.last_step;
  verdict.cost = {.slowdown_fraction = finding.gain,
                  .seconds_per_step = finding.seconds > 0 ? finding.seconds : finding.gain * step_seconds,
                  .steps_affected_fraction = finding.steps_affected};
  verdict.evidence.push_back({EvidenceKind::kWhatIf, std::move(finding.reason)});
  verdict.advice = AdviceOn(finding.verdict_class, finding.planned);
  return verdict;
}

std::vector<Verdict> FindStructural(const StepProfile& profile, const GainOfEvenWork& gain, const CostLimit& limit) {
  std::vector<StructuralFinding> findings = FindStageImbalance(profile, limit.Of(VerdictClass::kStageImbalance));
  const auto add = [&](std::vector<StructuralFinding> more) {
    for (StructuralFinding& finding : more) findings.push_back(std::move(finding));
  };
  std::vector<StructuralFinding> experts = FindExpertImbalance(profile, gain, limit.Of(VerdictClass::kExpertImbalance));
  add(FindSequenceImbalance(profile, gain, !experts.empty(), limit.Of(VerdictClass::kSequenceImbalance)));
  add(std::move(experts));
  add(FindRotatingStalls(profile, limit.Of(VerdictClass::kHostSlow)));
  std::vector<StructuralFinding> regression = FindRegression(profile, limit.Of(VerdictClass::kJobRegression));
  add(regression.empty() ? FindDrift(profile) : std::move(regression));
  add(FindPauses(profile, limit.Of(VerdictClass::kPause)));
  std::vector<double> lengths;
  for (const double seconds : profile.step_seconds) {
    if (!std::isnan(seconds)) lengths.push_back(seconds);
  }
  const double step_seconds = lengths.empty() ? 0 : LowerMedianOrNan(std::move(lengths));
  std::vector<Verdict> verdicts;
  for (StructuralFinding& finding : findings) verdicts.push_back(StructuralVerdict(std::move(finding), step_seconds));
  return verdicts;
}

}  // namespace lockstep
