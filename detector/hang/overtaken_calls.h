// Calls of a communicator that others of it have overtaken: open, though later ones have ended.
//
// Operations of one communicator end in order, but for programs that give kinds of calls streams of their own, as
// gathers and reductions of a sharded job: one kind goes on while another stands. A call that several members have a
// record of, and nobody an end, nor of a later one of its kind, is open, whatever has ended behind it. One end may be
// lost, and that of the first call on record may be of before. Where a member has not called what others have begun,
// it is not said: what stands may wait for it. Pure. Cost O(unfinished), and O(operations) where there is any such.

#ifndef LOCKSTEP_DETECTOR_HANG_OVERTAKEN_CALLS_H_
#define LOCKSTEP_DETECTOR_HANG_OVERTAKEN_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/types/span.h"
#include "detector/hang/frontier.h"
#include "detector/hang/member_table.h"
#include "detector/model/trace.h"

namespace lockstep {

// By communicator: the first such call. `collectives`: as Frontier::Content, by MemberTable::IndexOf. `unfinished`:
// indices of operations without an end, rising.
std::map<int32_t, int64_t> FindOvertakenCalls(const Trace& trace, const MemberTable& members,
                                              absl::Span<const Frontier::Progress> collectives,
                                              absl::Span<const size_t> unfinished);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_OVERTAKEN_CALLS_H_
