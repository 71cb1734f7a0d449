// How much of its own time each rank launched late in each step, beyond what its peers do.
//
// A healthy host runs ahead of its GPUs: an operation waits in the queue long before it starts. What is counted is own
// time that ends with an operation launched only just then (OwnProfile::host_bound), above the middle of what the peers
// have of it, at most the rank's excess over its peers. Not known where the peers' hosts are not ahead either: there a
// late launch tells nothing. Immutable; the profile must outlive it. Cost O(ranks x steps). Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_LAUNCH_LATENESS_H_
#define LOCKSTEP_DETECTOR_SLOW_LAUNCH_LATENESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/roles.h"
#include "detector/slow/persistent_excess.h"
#include "detector/steps/own_profile.h"

namespace lockstep {

class LaunchLateness {
 public:
  LaunchLateness(const JobRoles& roles, const OwnProfile& profile);

  // Seconds; NaN = not known.
  float Of(int32_t rank, size_t step) const { return seconds_[At(rank, step)]; }

  // Whether most of what a rank is suspected of is that it launches late.
  bool Explain(const Suspect& suspect) const;

 private:
  size_t At(int32_t rank, size_t step) const { return static_cast<size_t>(rank) * profile_.steps + step; }
  void Measure(const std::vector<int32_t>& peers, size_t step);

  const OwnProfile& profile_;
  std::vector<float> seconds_;  // in the layout of the profile
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_LAUNCH_LATENESS_H_
