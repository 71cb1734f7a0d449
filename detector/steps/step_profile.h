// What every rank did on its own in every step, and which place it has in the job: the input of the structural tests.
//
// `own_seconds` is time in which the rank waits for nobody: compute, input, launching. It is laid out rank after rank;
// NaN = not known. Places say which ranks have the same duty for a reason that is no machine: the same pipeline stage
// (the same layers), the same replica (the same data), the same lane (tensor or context index: the same share of one
// layer). All ranks of one stage and lane are peers. A place that a job does not have is 0 for all. Pure values;
// thread-compatible.

#ifndef LOCKSTEP_DETECTOR_STEPS_STEP_PROFILE_H_
#define LOCKSTEP_DETECTOR_STEPS_STEP_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace lockstep {

struct PlaceInJob {
  int32_t stage = 0;
  int32_t replica = 0;
  int32_t lane = 0;
  int32_t host = -1;  // -1 = not known
};

// What can be dealt out unevenly: batches, the work on tokens that are routed to experts, batches but not that work.
enum class UnevenWork : uint8_t { kBatches, kExperts, kUnroutedBatches };

// By how much the busiest of an expert group exceeds its mean, at each place of the step, as a share of that work: of
// what the routing of tokens decides, and of what it does not.
struct RoutedSpread {
  double routed = 0;
  double unrouted = 0;
  size_t groups = 0;    // 0 = nothing is routed
  bool decides = true;  // what ranks do between AllToAlls; false: they exchange parts of sequences
};

struct StepProfile {
  size_t steps = 0;
  std::vector<PlaceInJob> places;  // by rank index
  std::vector<float> own_seconds;  // places.size() * steps
  // The part of own_seconds that no routing of tokens decides, in the same layout; empty = nothing is routed.
  std::vector<float> unrouted_seconds;
  RoutedSpread routing;
  // The longest single piece of own work that is surely known, in the same layout; empty = not known.
  std::vector<float> longest_seconds;
  std::vector<double> step_seconds;   // by step; NaN = not known
  std::vector<double> pause_seconds;  // before each step, idle on all ranks; empty = not known
  double lost_share = 0;              // of the records behind it; 0 to 1
  double microbatches = 1;            // per step and replica, for the shape of a pipeline

  size_t ranks() const { return places.size(); }
  absl::Span<const float> OwnOf(size_t rank) const {
    return absl::MakeConstSpan(own_seconds).subspan(rank * steps, steps);
  }
};

// How long a step takes when all that counts is own time: replicas run side by side; in one, stages follow one another
// for the first microbatch and the slowest sets the pace of the others; lanes and experts of a stage wait for each
// other. By step; NaN where nothing is known. `own_seconds` has the layout of profile.own_seconds.
std::vector<double> ModelSteps(const StepProfile& profile, absl::Span<const float> own_seconds);

// Share of the step time that would be saved if such work were dealt out evenly; negative = it cannot be said.
using GainOfEvenWork = std::function<double(UnevenWork)>;

// What the other own times would give back: (model with - model without) / model with, times the part of the steps that
// the model explains. 0 to 1.
double ModelGain(const StepProfile& profile, absl::Span<const float> counterfactual_own_seconds);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_STEP_PROFILE_H_
