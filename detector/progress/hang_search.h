// Why the job of a trace does not go on: who others wait for and who waits for nobody.
//
// Nodes are ranks and the operations at which they stand; a rank leads to the first operation that it has not finished
// in each communicator, an operation to the members that have not entered it, or stand before an earlier one. What no
// edge leaves (a sink of the graph's strong components) is the cause, everything that leads to it a victim:
//   - a rank that has not entered, or whose GPU never began what its host enqueued;
//   - a rank that alone does not finish what others have finished (nobody leaves a synchronous operation before all
//     have entered);
//   - an operation that all members stand in: the transfer is stuck, or the calls differ;
//   - a cycle: ranks that entered different operations and wait for each other.
// Clock-free but for ages on one host. Records that merely stop are told from a hang by three facts: in a hang
// (almost) every rank waits or is waited for, the causes are few, and something lasts longer than ever before: where
// the recorder says when it last looked (TraceRank::last_seen_ns), the wait, by far, and nothing else counts; elsewhere
// a wait, a transfer or an absence (Precedents). Our own composition of rules A and B of the flight-recorder analyses,
// Mycroft's dependency states (SOSP'25 section 4) and the cross-collective chains of NCCLX. Cost O(operations + members
// of stuck operations). Pure.

#ifndef LOCKSTEP_DETECTOR_PROGRESS_HANG_SEARCH_H_
#define LOCKSTEP_DETECTOR_PROGRESS_HANG_SEARCH_H_

#include <cstdint>
#include <vector>

#include "detector/progress/frontier.h"
#include "detector/progress/hang.h"

namespace lockstep {

enum class RecordsEnd : uint8_t {
  kFinished,  // nothing is open
  kMoving,    // operations are open because the records end: the job was under way
  kOpen,      // almost all wait for few, as in a hang or in a moment of a job under way: nothing tells which
  kHung,
};

struct HangSearch {
  RecordsEnd end = RecordsEnd::kFinished;
  std::vector<Hang> hangs;              // independent causes; those that more ranks wait for come first
  std::vector<int32_t> standing_ranks;  // rank indices that stand at an operation, rising
  std::vector<int32_t> unseen_ranks;    // whose records end before what others prove that they did
  std::vector<int32_t> quiet_ranks;     // that were looked at long after their last record, rising
  int32_t free_ranks = 0;               // no cause, and wait for none of the causes
  int32_t left_out = 0;                 // causes beyond those that can be looked at
};

// `stalls_pass`: the job is known to wait now and then for single ranks that stall and go on. Then only death, a wait
// that some clock shows to be long, and what no stall looks like (a cycle, calls that differ) tell a hang.
HangSearch SearchHangs(const Frontier& frontier, bool stalls_pass);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_PROGRESS_HANG_SEARCH_H_
