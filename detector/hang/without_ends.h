// Ranks whose recorder tells no ends, and what they have ended all the same.
//
// Of a rank without a single end, what is open may be all that it has in flight: a dump of active work. But a GPU is
// inside of few collectives of one communicator at once, and a host runs ahead of it by a bounded number of calls. A
// rank that has begun more than that, or called more where it tells no begins, tells no ends. Then what all members, or
// both sides, have begun (or called) has ended, as far as anybody knows; who left no records is not asked.
//
// Cost O(ranks) where every rank ends something, else O(operations + memberships). Pure value.

#ifndef LOCKSTEP_DETECTOR_HANG_WITHOUT_ENDS_H_
#define LOCKSTEP_DETECTOR_HANG_WITHOUT_ENDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/member_table.h"
#include "detector/model/trace.h"

namespace lockstep {

class WithoutEnds {
 public:
  WithoutEnds(const Trace& trace, const MemberTable& members);

  // No record of the rank has an end, whatever that means.
  bool EndsNothing(size_t rank_index) const { return ends_nothing_[rank_index] != 0; }
  bool TellsNoEnds(size_t rank_index) const { return !tells_none_.empty() && tells_none_[rank_index] != 0; }

  // Only where some rank tells no ends: the number of the last call that has ended; -1 = none.
  int64_t EndedByAll(int32_t communicator) const { return ended_by_all_[static_cast<size_t>(communicator)]; }
  int64_t EndedByBoth(const Frontier::PairKey& pair) const;

 private:
  // Calls of one member in one communicator, or in one direction.
  struct Begun {
    int64_t last = -1;  // of a rank without begins, the last called
    size_t begins = 0;
    size_t calls = 0;

    void Note(const TraceOperation& operation, bool tells_begins);
    bool MoreThanInFlight() const;
  };

  void Read(const Trace& trace, const MemberTable& members, size_t rank_index);
  void FindEndedByAll(const Trace& trace, const MemberTable& members);

  std::vector<char> ends_nothing_;  // by rank index
  std::vector<char> tells_none_;
  std::vector<Begun> of_member_;                                  // by MemberTable::IndexOf
  std::map<Frontier::PairKey, std::pair<Begun, Begun>> of_pair_;  // sender's, receiver's
  std::vector<int64_t> ended_by_all_;                             // by communicator
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_WITHOUT_ENDS_H_
