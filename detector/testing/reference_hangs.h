// The hang search by its definition: who waits for whom as a matrix, closed by brute force. Cost O(ranks^3).
//
// Collectives only, ranks that are alive, reports that are fresh: what a random roster of a test holds. Pure.

#ifndef LOCKSTEP_DETECTOR_TESTING_REFERENCE_HANGS_H_
#define LOCKSTEP_DETECTOR_TESTING_REFERENCE_HANGS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "detector/model/roster.h"

namespace lockstep {

struct ReferenceHangs {
  std::set<int32_t> missing;             // rank slots that somebody stuck waits for and that wait for nobody
  std::vector<std::vector<char>> waits;  // [a][b]: a waits for b, maybe over others
  std::vector<char> complete;            // by slot: is stuck in an operation from which nobody is missing

  bool InOneCycle(int32_t a, int32_t b) const {
    return waits[static_cast<size_t>(a)][static_cast<size_t>(b)] != 0 &&
           waits[static_cast<size_t>(b)][static_cast<size_t>(a)] != 0;
  }
  // In a circle of ranks that wait for nobody and nothing outside of it.
  bool InClosedCycle(int32_t slot) const;
};

ReferenceHangs FindReferenceHangs(const Roster& roster, int64_t timeout_ns);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_REFERENCE_HANGS_H_
