// The share of the step time from which on a finding is told, and the smaller one down to which it goes on being told.
//
// Each look measures a cost anew, and the measure varies. With one limit for both, what costs about that much would
// begin and end with every other look, while its rank is as slow as before. So what was told is over when it costs
// clearly less, not when it is no longer dear enough to be told: a switch with two thresholds, as Schmitt's trigger.
//
// Pure; thread-compatible. Keeps a pointer to the causes, which must outlive it.

#ifndef LOCKSTEP_DETECTOR_VERDICT_COST_LIMIT_H_
#define LOCKSTEP_DETECTOR_VERDICT_COST_LIMIT_H_

#include <set>
#include <string>

#include "detector/verdict/verdict.h"

namespace lockstep {

class CostLimit {
 public:
  // A rank needs an excess of as much to be a suspect at all (persistent_excess.h): less is not known to be slow.
  static constexpr double kHoldingShare = 0.5;

  // Nothing was told before.
  CostLimit(double min_cost) : min_cost_(min_cost) {}  // NOLINT(google-explicit-constructor): a limit is a number
  // `told`: cause keys (CauseKey) of what holds until now.
  CostLimit(double min_cost, const std::set<std::string>& told) : min_cost_(min_cost), told_(&told) {}

  double of_new() const { return min_cost_; }
  double Of(const Verdict& verdict) const { return OfCause(CauseKey(verdict)); }
  // Of what is said of the job as a whole, and names nobody.
  double Of(VerdictClass verdict_class) const { return Of(Verdict::Accusation(VerdictScope::kJob, verdict_class)); }

 private:
  double OfCause(const std::string& key) const {
    return told_ != nullptr && told_->contains(key) ? kHoldingShare * min_cost_ : min_cost_;
  }

  double min_cost_;
  const std::set<std::string>* told_ = nullptr;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_COST_LIMIT_H_
