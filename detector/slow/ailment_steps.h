// Which steps tell what an ailment costs, and how many of them it is there in. Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_AILMENT_STEPS_H_
#define LOCKSTEP_DETECTOR_SLOW_AILMENT_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/slow/counterfactual_step.h"
#include "detector/steps/trace_analysis.h"

namespace lockstep {

// Both must outlive it. Thread-compatible.
class AilmentSteps {
 public:
  AilmentSteps(const TraceAnalysis& analysis, const std::vector<Ailment>& ailments)
      : analysis_(analysis), ailments_(ailments) {}

  // Those in which it is there, the shortest first. Where other causes are there for a part of the time only, without
  // them: what is recorded beats what is replayed.
  std::vector<int32_t> ByLength(const Ailment& ailment) const;
  // Of the usual steps since the onset.
  double AffectedShare(const Ailment& ailment) const;
  // Mean of the usual steps since the onset in which it is not; 0 = there is none.
  double SecondsWithout(const Ailment& ailment) const;
  // Of a usual step before any ailment; 0 = too few are known.
  double SecondsBeforeAll() const;

 private:
  size_t OthersIn(const Ailment& ailment, int32_t step) const;
  bool Known(const Ailment& ailment, int32_t step) const;
  // What comes and goes makes steps unusual.
  bool TransfersMatter(const Ailment& ailment, int32_t step) const;

  const TraceAnalysis& analysis_;
  const std::vector<Ailment>& ailments_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_AILMENT_STEPS_H_
