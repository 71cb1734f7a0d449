// Which ranks' own work is persistently above that of their peers, since when, and how surely.
//
// A rank is a suspect when over some stretch of steps (found by a cumulative sum, so that a fault that began in the
// middle is seen from its onset on; of a stretch with two levels, the higher one)
//   effect: the median excess is at least half of `min_cost` of the step time: less cannot cost enough,
//   significance: it stands out of the noise so far that, over all ranks and stretches of the job, chance would make
//     one such suspect in a thousand jobs. The noise is the larger of two: how a rank's excess varies from step to
//     step, over the square root of the steps; and how those medians vary among peers. It counts as it is in all steps
//     and as it is in the stretch: where batches begin to vary, a quiet past is no measure,
//   persistence: the excess is above half of its median in at least `min_persistence` of the steps, or in as many as
//     noise of this size leaves. Imbalance that rotates over the ranks has effect but no persistence.
// Medians and median deviations make suspects invisible to one another up to half of the peers, so that all are found
// at once. Abstains below kMinSuspectSteps. Cost O(ranks x steps), once more for each stretch of a suspect. Pure.

#ifndef LOCKSTEP_DETECTOR_SLOW_PERSISTENT_EXCESS_H_
#define LOCKSTEP_DETECTOR_SLOW_PERSISTENT_EXCESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/model/roles.h"
#include "detector/slow/excess_stretch.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/slow_transfers.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Onsets so close are one: either is known to a step.
inline constexpr int32_t kSameOnsetSteps = 1;

struct PersistenceOptions {
  double min_cost = 0.03;  // share of the step time
  double min_persistence = 0.8;
  double false_suspects_per_job = 1e-3;
};

struct Suspect {
  int32_t rank = -1;  // rank index
  int32_t first_step = 0;
  int32_t last_step = 0;
  int32_t steps = 0;  // known ones in between
  // Usual steps right before and behind of which the rank's records are lost: nobody knows whether it was slow in them.
  int32_t unknown_before = 0;
  int32_t unknown_after = 0;
  double excess_seconds = 0;  // median per step
  double own_seconds = 0;     // median per step
  double before_seconds = 0;  // SecondsBefore the stretch
  double needed_seconds = 0;  // what a healthy rank would need (hidden_work.h); 0 = as its peers
  double significance = 0;    // standard errors
  double share_of_steps = 0;  // with at least half of the excess
  int32_t peers = 0;
  // Slow in some steps only (intermittent_excess.h, starved_host.h): those with at least this excess, each by as much
  // as it has. Negative = in all steps of the stretch, by the median.
  double slow_above_seconds = -1;
  bool against_past = false;  // its excess is over its own before_seconds, whatever its peers do

  bool in_some_steps() const { return slow_above_seconds >= 0; }

  // In which it may have been slow.
  int32_t earliest_step() const { return first_step - unknown_before; }
  int32_t latest_step() const { return last_step + unknown_after; }
};

// Own time of a usual step before one, in seconds: what the rank needed of its peers' time, at the peers' usual time,
// so that a step that was long for everybody does not count as the rank's. 0 = fewer than kMinPastSteps steps are
// known.
double SecondsBefore(const OwnProfile& profile, size_t rank, size_t first_step);

// By falling excess.
std::vector<Suspect> FindPersistentExcess(const OwnProfile& profile, const JobRoles& roles, const StepTable& steps,
                                          const PersistenceOptions& options);

// A rank whose own transfers are slow is looked at from their onset to the end, whatever else is known of it: what
// degrades the way between a GPU and its host degrades both. With one stretch of few ranks to look at, less than it
// takes among all ranks and stretches is significant, half of the effect matters (its cost is that of both), and a
// majority of the steps is persistent. Adds such ranks, and dates suspects of which lost records hid the onset; keeps
// the order.
void AddSlowBesideTransfers(const OwnProfile& profile, const JobRoles& roles, const StepTable& steps,
                            const PersistenceOptions& options, const std::vector<SlowTransfers>& transfers,
                            std::vector<Suspect>* suspects);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_SLOW_PERSISTENT_EXCESS_H_
