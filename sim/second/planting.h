// Where the faults of each kind of episode strike: the kinds that `lockstep sim --kind` knows, what each needs of its
// world, and how its faults are drawn.
//
// Pure functions; thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_PLANTING_H_
#define LOCKSTEP_SIM_SECOND_PLANTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sim/second/fault.h"
#include "sim/second/layout.h"
#include "sim/second/world.h"

namespace lockstep::second {

struct EpisodeKind {
  absl::string_view name;
  Need need;
  std::vector<FaultKind> faults;  // none = healthy
};

// All kinds, in the order in which suites take turns.
const std::vector<EpisodeKind>& EpisodeKinds();

// Null = there is none of that name.
const EpisodeKind* FindKind(absl::string_view name);

// The faults of that episode. `harder` = 0, 1, ...: the same faults, more severe.
std::vector<Fault> Plant(const EpisodeKind& kind, const World& world, const Layout& layout, int harder);

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_PLANTING_H_
