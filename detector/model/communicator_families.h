// Which communicators serve the same end for different ranks, so that what happens in them can be compared.
//
// Communicators of one size, place (hosts, GPUs between members, inside a stage or not) and use are of one family.
// Those of one rank are only where one is not clearly busier than the other, and where not all have the same members:
// then each serves another end. Where several sets of members have several each, nothing tells which belong together.
//
// Without a name or the number of a rank. Pure. Cost O(members x log).

#ifndef LOCKSTEP_DETECTOR_MODEL_COMMUNICATOR_FAMILIES_H_
#define LOCKSTEP_DETECTOR_MODEL_COMMUNICATOR_FAMILIES_H_

#include <cstdint>
#include <vector>

#include "detector/model/trace.h"

namespace lockstep {

// What a communicator is used for, and where.
struct CommunicatorUse {
  bool on_one_host = false;
  bool inside_stage = false;  // its members are peers
  bool exchanges = false;     // mostly moves data between all
  uint64_t calls = 0;         // collectives, or without any, sends
};

struct CommunicatorFamilies {
  std::vector<int32_t> of;  // by communicator
  int32_t count = 0;
};

// `uses`: by communicator.
CommunicatorFamilies FindFamilies(const Trace& trace, const std::vector<CommunicatorUse>& uses);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_COMMUNICATOR_FAMILIES_H_
