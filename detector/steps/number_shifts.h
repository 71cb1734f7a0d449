// One numbering out of many: by how much the numbers of each group have to be shifted so that all groups agree.
//
// Two groups that meet vote on the difference of their numbers, meeting by meeting. Beside lost records single votes
// are wrong, and there may be a hundred between two groups and one between two others: so the surest bonds count, as in
// a maximum spanning tree (Kruskal), its weight the votes for the most frequent difference less all others. Groups that
// nothing connects with the rest keep their own numbers. Pure. Cost O(n log n) for n pairs of groups.

#ifndef LOCKSTEP_DETECTOR_STEPS_NUMBER_SHIFTS_H_
#define LOCKSTEP_DETECTOR_STEPS_NUMBER_SHIFTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lockstep {

// (lower group, higher group) -> number in the higher one less that in the lower one -> votes.
using NumberVotes = std::map<std::pair<int32_t, int32_t>, std::map<int32_t, int>>;

// By group, to be added to its numbers; groups are below `groups`.
std::vector<int32_t> NumberShifts(const NumberVotes& votes, size_t groups);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_STEPS_NUMBER_SHIFTS_H_
