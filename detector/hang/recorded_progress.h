// How far every rank has come by its own records alone, before anything is inferred from those of others.
//
// A recorder tells begins from calls if some operation begins after it was called, or if some of what is in flight has
// no begin. Where hosts run ahead of GPUs that nobody sees, what is told as the begin is the call (begin_order.h).
// Records of a rank that is no member of the communicator are left out. Cost O(operations), each read once and by
// BeginsOutOfTurn; memory O(memberships + pairs of peers + operations without an end). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_RECORDED_PROGRESS_H_
#define LOCKSTEP_DETECTOR_HANG_RECORDED_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "detector/hang/frontier.h"
#include "detector/hang/member_table.h"
#include "detector/model/trace.h"

namespace lockstep {

// As the members of the same names of Frontier::Content.
struct RecordedProgress {
  std::vector<Frontier::Progress> collectives;  // by MemberTable::IndexOf
  std::vector<int64_t> entered_by_all;          // by communicator: of which a record shows that somebody left it
  absl::flat_hash_map<Frontier::PairKey, Frontier::PairProgress> pairs;
  std::vector<char> tells_begun;  // by rank index, as is the next
  std::vector<char> tells_called;
  std::vector<size_t> unfinished;  // operations without an end, rising
};

// `members`: of this trace.
RecordedProgress ReadProgress(const Trace& trace, const MemberTable& members);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_RECORDED_PROGRESS_H_
