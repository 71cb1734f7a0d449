// Whose operations a close look asks for, when those of everybody would be too many bytes.
//
// Jobs fall into *units* that meet seldom: the replicas of data parallelism, each with its tensor and pipeline groups,
// or the groups of replicas that share experts. Communicators join their members into a unit, those with the most calls
// first, while units stay below a quarter of the ranks in question; those that remain couple the units. They hold few
// operations, and tell which unit keeps the others waiting: so they are asked of everybody first (the *scouted*). If
// all operations of the unit that comes last, of the next one and of three in the middle, its peers, are few enough,
// these are asked for and diagnosed as a job of their own; else the search goes on inside the unit that comes last.
// That a search need only look at the communicators it reaches is Holmes' idea (see our notes, section 7); units and
// their choice are ours.
//
// Pure. Cost O(memberships log communicators), and of the order O(operations log operations).

#ifndef LOCKSTEP_DETECTOR_ENGINE_SEARCH_PLAN_H_
#define LOCKSTEP_DETECTOR_ENGINE_SEARCH_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/shares.h"
#include "detector/model/input.h"
#include "detector/model/roster.h"

namespace lockstep {

struct SearchPlan {
  std::vector<CommunicatorId> scouted;  // rising; empty = units cannot be told, or are single ranks
  std::vector<int32_t> unit_of;         // by rank slot, dense from 0; -1 = not in question
  int32_t units = 0;
};

// `scope`: the rank slots in question; empty = all.
SearchPlan PlanSearch(const Roster& roster, const std::vector<int32_t>& scope);

// Operations per second that the ranks in question finish together, by the newest reports; 0 = unknown.
double OperationsPerSecond(const Roster& roster, const std::vector<int32_t>& scope);

// Members of a communicator that are in question.
std::vector<int32_t> MembersOf(const Communicator& communicator, const SearchPlan& plan);

// Share of the members of an operation that has to be known.
inline constexpr double kMostKnown = kNearlyAll;

// The units of which something is known after `scouted` operations are, the latest first.
struct UnitOrder {
  std::vector<int32_t> units;
  double latest_seconds = 0;  // that the first one comes later than the median member, where it does most
};
UnitOrder OrderUnits(const Roster& roster, const SearchPlan& plan, const std::vector<PulledOperations>& scouted);

// By the order of units: rank slots, rising, of the unit that comes last, ...
std::vector<int32_t> LatestUnit(const SearchPlan& plan, const std::vector<int32_t>& order);
// ... and with it of the next one and of its peers. Empty with fewer than three units.
std::vector<int32_t> SuspectsAndPeers(const SearchPlan& plan, const std::vector<int32_t>& order);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_ENGINE_SEARCH_PLAN_H_
