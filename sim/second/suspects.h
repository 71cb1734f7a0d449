// Whom a recording cannot tell from the culprit: hosts whose adapters take part in exactly the same operations.
//
// Pure functions; thread-safe.

#ifndef LOCKSTEP_SIM_SECOND_SUSPECTS_H_
#define LOCKSTEP_SIM_SECOND_SUSPECTS_H_

#include <vector>

#include "sim/second/fault.h"
#include "sim/second/layout.h"
#include "sim/second/player.h"
#include "sim/second/world.h"

namespace lockstep::second {

struct Suspects {
  bool is_network = false;
  std::vector<int> hosts;  // without the culprits; rising
};

// Of adapters and leaf switches: a ring as a whole is slow wherever its slow place is, so that only operations that
// differ between hosts tell them apart. Of a stuck ring: all of its members. Of everything else: nobody.
// Of a process that died inside an operation in which all members stand: those that had called as much by the end, and
// the other side of a transfer.
Suspects SuspectsOf(const World& world, const Layout& layout, const Fault& fault, const Playback& playback);

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_SUSPECTS_H_
