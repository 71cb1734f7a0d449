// Where the members of a communicator sit whose communicator ranks nobody recorded.
//
// Members are taken to sit in the order of their ranks. Where some members left no record, that leaves it open which
// places are theirs. Whom members exchange data with tells: nobody is a peer of its own, and of two members that are
// recorded each is the other's peer or neither is. A group of which the places were guessed matches Sends with the
// wrong Recvs.
//
// Cost O(kMaxTries x peers). Pure.

#ifndef LOCKSTEP_DETECTOR_MODEL_MEMBER_PLACES_H_
#define LOCKSTEP_DETECTOR_MODEL_MEMBER_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace lockstep {

struct UnplacedMember {
  int32_t rank = -1;        // whatever names it
  std::set<int32_t> peers;  // communicator ranks of those with which it exchanges data
};

// `members` by rising rank; `size`: places. A place each, rising, if what is known allows one answer only; else empty.
std::vector<int32_t> PlacesByPeers(const std::vector<UnplacedMember>& members, int32_t size);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_MODEL_MEMBER_PLACES_H_
