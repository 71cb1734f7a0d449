// Where each rank sits in its groups of one role: the replica that it works on (data groups), its share of a layer
// (tensor groups), its experts (expert groups).
//
// Pure; cost O(members of all communicators).

#ifndef LOCKSTEP_DETECTOR_MODEL_PLACE_IN_GROUP_H_
#define LOCKSTEP_DETECTOR_MODEL_PLACE_IN_GROUP_H_

#include <cstdint>
#include <vector>

#include "detector/model/roles.h"
#include "detector/model/trace.h"

namespace lockstep {

// By rank index: its place in its largest group of this role (a job may split its data groups further, for optimizer
// states); 0 where it is in none.
std::vector<int32_t> PlacesIn(const Trace& trace, const JobRoles& roles, GroupRole role);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_PLACE_IN_GROUP_H_
