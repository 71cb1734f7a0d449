// Which workers do the same work, so that they may be compared.
//
// Where all workers have a duty (from communicators, FleetWorker::duty), that is it. Else workers are alike when their
// GPUs run about as many kernels of each group per step: numbers that follow from the program and hardly from chance.
// Stages of a pipeline and ranks of different frameworks fall apart so. Without work on GPUs, those are alike who call
// operators of the same names: frameworks share none.
//
// O(workers * groups found), at most kMostDuties of which the last takes the rest. Pure.

#ifndef LOCKSTEP_DETECTOR_PATTERNS_DUTY_GROUPS_H_
#define LOCKSTEP_DETECTOR_PATTERNS_DUTY_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/patterns/pattern_fleet.h"

namespace lockstep {

inline constexpr size_t kMostDuties = 256;  // more kinds of ranks than any pipeline has stages

// Workers by duty, in the order of their first member.
std::vector<std::vector<uint32_t>> DutyGroups(const PatternFleet& fleet);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PATTERNS_DUTY_GROUPS_H_
