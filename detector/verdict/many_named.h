// How many an accusation may name.
//
// Of more than a quarter of a job's hosts none is to blame: what they have in common is. Where ranks are named, as
// those of a group, their share of the ranks counts as well, since a group may span all hosts with one GPU of each.
// Two, the ends of a link, may always be named. Of more than four hosts that nothing tells apart each is three times as
// likely not to be it: they are not named either.
//
// Hangs have rules of their own (hang/hang_search.h): who died, is silent, or called something else is told, however
// many they are. So have places (counters/place_diagnosis.h), which name what is in them. Pure.

#ifndef LOCKSTEP_DETECTOR_VERDICT_MANY_NAMED_H_
#define LOCKSTEP_DETECTOR_VERDICT_MANY_NAMED_H_

#include <cstddef>
#include <vector>

#include "detector/verdict/verdict.h"

namespace lockstep {

// Whether one cause may lie among `count` of `all`.
bool IsFewOf(size_t count, size_t all);

struct JobSize {
  size_t hosts = 0;
  size_t ranks = 0;
};

// What accuses more than a few nodes of something other than a hang names nobody any more. What was seen stays: of the
// network, an accusation without a culprit; of machines, an observation.
void NameNobodyOfMany(const JobSize& job, std::vector<Verdict>* verdicts);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_MANY_NAMED_H_
