#include "detector/structure/expert_load.h"

namespace lockstep {
namespace {

// Well above the 1 to 2 % by which own time of equal work varies.
constexpr double kMinExpertExcess = 0.05;
// As variances, routed work over other work: about 1 by chance and for whole batches. Hundreds of places are compared,
// so that chance hardly moves it.
constexpr double kMinRatio = 1.5;

}  // namespace

std::vector<StructuralFinding> FindExpertImbalance(const StepProfile& profile, const GainOfEvenWork& gain,
                                                   double min_gain) {
  const RoutedSpread& spread = profile.routing;
  if (spread.groups == 0 || spread.routed < kMinExpertExcess || !gain) return {};
  if (spread.routed * spread.routed < kMinRatio * spread.unrouted * spread.unrouted) return {};
  // With what is in any work left as it is.
  const double share = gain(UnevenWork::kExperts) * (1 - spread.unrouted / spread.routed);
  if (share < min_gain) return {};
  return {Throughout(VerdictClass::kExpertImbalance, profile.steps, share,
                     HotExpert{.excess = spread.routed, .elsewhere = spread.unrouted, .groups = spread.groups})};
}

}  // namespace lockstep
