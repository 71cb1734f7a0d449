// Members whose part in a communicator was never recorded, and whose silence there therefore says nothing.
//
// Who has finished a synchronous operation proves that all members entered it. A member that left no record of a
// communicator, though others' records hold two such operations or more (one may be lost by chance), took part without
// being recorded: that it is missing from a later one is no sign. So is a side of transfers that the other side has
// finished. A dump of what is in flight holds nothing that has ended, and proves nothing of the kind; nor does a
// watched job, whose ranks report counters.
//
// The frontier must outlive it. Cost O(members + pairs of peers) to build. Thread-compatible.

#ifndef LOCKSTEP_DETECTOR_HANG_BLIND_MEMBERS_H_
#define LOCKSTEP_DETECTOR_HANG_BLIND_MEMBERS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "detector/hang/blocked_operation.h"
#include "detector/hang/frontier.h"

namespace lockstep {

class BlindMembers {
 public:
  explicit BlindMembers(const Frontier& frontier);

  // `member`: a communicator rank that takes part in the operation.
  bool IsBlind(const BlockedOperation& blocked, int32_t member) const;
  // The rank index of a member, also of a blind one that left other records; -1 = nobody that is known.
  int32_t RankAt(int32_t communicator, int32_t member) const;
  // Whether any of them left other records.
  bool any() const { return !ranks_.empty(); }
  // By rank index: it is blind somewhere.
  const std::vector<char>& somewhere() const { return somewhere_; }

 private:
  using Place = std::pair<int32_t, int32_t>;  // communicator, member

  void Note(int32_t communicator, const std::vector<int32_t>& blind);

  const Frontier& frontier_;
  std::vector<int64_t> ended_;          // by communicator: most collectives that one member's records show to be over
  std::map<int32_t, int32_t> indices_;  // of ranks with records, by number
  std::map<Place, int32_t> ranks_;      // of blind members: rank indices
  std::vector<char> somewhere_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_BLIND_MEMBERS_H_
