// A slow rank planted into a recording by replay, and the delay of a slow rank removed.
//
// Pure but for the chance that is given; thread-safe.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_PLANTED_SLOWNESS_H_
#define LOCKSTEP_EVAL_METAMORPHIC_PLANTED_SLOWNESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/random.h"
#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"
#include "eval/metamorphic/recording_replay.h"

namespace lockstep {

// As much as its own work takes on the planted rank.
inline constexpr double kPlantedFactor = 1.2;

struct PlantedSlowness {
  size_t rank = 0;  // rank index
  int32_t first_step = 0;
  double slowdown_fraction = 0;  // as Cost tells it, of the replay
  Trace trace;
};

// A random rank that has peers to be compared with, on none of `avoided_hosts`, whose work takes kPlantedFactor times
// as long from a third of the steps on. None if no rank of a few that are tried costs `min_cost` in the replay.
std::optional<PlantedSlowness> PlantSlowness(const RecordingReplay& replay, const std::set<std::string>& avoided_hosts,
                                             double min_cost, Random& random);

// What the delay of the ranks that `verdict` blames for their own work costs, as Cost tells it. None as of
// WithoutDelayOf.
std::optional<double> CostOfDelayOf(const RecordingReplay& replay, const Verdict& verdict);

// The ranks that `verdict` blames for their own work at what their peers took in the same steps. None if it does not
// blame any for that, or the records do not hang together.
std::optional<Trace> WithoutDelayOf(const RecordingReplay& replay, const Verdict& verdict);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_PLANTED_SLOWNESS_H_
