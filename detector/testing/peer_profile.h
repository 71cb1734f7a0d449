// Peers of equal duty, each with a second of own work in every step: what tests of excess begin with. Pure values;
// not thread-safe.

#ifndef LOCKSTEP_DETECTOR_TESTING_PEER_PROFILE_H_
#define LOCKSTEP_DETECTOR_TESTING_PEER_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "absl/functional/function_ref.h"
#include "detector/model/roles.h"
#include "detector/steps/own_profile.h"
#include "detector/steps/step_finder.h"

namespace lockstep {

// Plain values, to be changed at will.
struct PeerProfile {
  // `noise_of`: seconds on top of the second of work.
  PeerProfile(size_t ranks, size_t of_steps, double step_seconds,
              absl::FunctionRef<float(size_t rank, size_t step)> noise_of) {
    steps.steps = static_cast<int32_t>(of_steps);
    steps.ranks = ranks;
    steps.usual.assign(of_steps, 1);
    steps.usual_seconds = step_seconds;
    roles.classes.emplace_back(ranks);
    std::iota(roles.classes[0].begin(), roles.classes[0].end(), 0);
    roles.class_of_rank.assign(ranks, 0);
    profile.ranks = ranks;
    profile.steps = of_steps;
    for (size_t rank = 0; rank < ranks; ++rank) {
      for (size_t step = 0; step < of_steps; ++step) {
        profile.excess.push_back(noise_of(rank, step));
        profile.shared.push_back(1 + profile.excess.back());
      }
    }
    profile.own = profile.shared;
    profile.host_bound.assign(ranks * of_steps, 0);
  }

  // From `first_step` on, until `end_step`.
  void Slow(size_t rank, size_t first_step, size_t end_step, float seconds) {
    for (size_t at = rank * profile.steps + first_step; at < rank * profile.steps + end_step; ++at) {
      profile.excess[at] += seconds;
      profile.shared[at] += seconds;
      profile.own[at] += seconds;
    }
  }

  StepTable steps;
  JobRoles roles;
  OwnProfile profile;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_PEER_PROFILE_H_
