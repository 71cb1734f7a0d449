// One episode of the second simulator: a world, what goes wrong in it, what its recorders saw, and the truth.
//
// Pure functions; thread-safe. Equal arguments give equal bytes.

#ifndef LOCKSTEP_SIM_SECOND_EPISODE_H_
#define LOCKSTEP_SIM_SECOND_EPISODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sim/second/layout.h"
#include "sim/second/planting.h"
#include "sim/second/player.h"
#include "sim/second/recording.h"
#include "sim/second/truth.h"
#include "sim/second/world.h"

namespace lockstep::second {

// Below it a fault need not be named: what `lockstep diagnose` accuses for.
inline constexpr double kLeastCost = 0.03;

struct SecondEpisode {
  World world;
  std::vector<Fault> faults;
  Recording recording;
  Truth truth;
};

// Plays the world with its faults, and again without each, for what each costs. A slow machine whose fault is not felt
// gets a worse one, at most twice.
SecondEpisode MakeSecondEpisode(uint64_t seed, const EpisodeKind& kind);

// ops.csv with `ending` ("", ".zst", ".gz") and truth.json, into a folder that exists.
absl::Status WriteSecondEpisode(const SecondEpisode& episode, const std::string& folder, const std::string& ending);

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_EPISODE_H_
