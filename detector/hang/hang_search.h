// Why a job does not go on: who others wait for and who waits for nobody, in records and in running jobs alike.
//
// Nodes are ranks and the operations at which they stand (wait_graph.h); what no edge leaves is a cause
// (hang_causes.h), everything that leads to it a victim. Records that merely stop are told from a hang by three facts:
// in a hang (almost) every rank waits or is waited for, the causes are few, and something lasts longer than ever
// before. Where the recorder says when it last looked (TraceRank::last_seen_ns), and in a watched job, the wait, by
// far, and nothing else counts; elsewhere a wait, a transfer or an absence (Precedents). If almost all wait and the
// rest does not tell, it is an open question. Many causes at once, or one that is ranks of more than a quarter of the
// hosts, accuse nobody. Our own composition of rules A and B of the flight-recorder analyses, Mycroft's dependency
// states (SOSP'25 section 4) and the cross-collective chains of NCCLX. Limits: kMaxHangs causes, the rest is counted.
// Cost O(operations + members of stuck operations + causes x edges). Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_HANG_SEARCH_H_
#define LOCKSTEP_DETECTOR_HANG_HANG_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "detector/hang/frontier.h"
#include "detector/hang/hang.h"

namespace lockstep {

enum class RecordsEnd : uint8_t {
  kFinished,  // nothing is open
  kMoving,    // operations are open because the records end: the job was under way
  kOpen,      // almost all wait for few, or all are inside, as in a hang or in a moment of a job: nothing tells which
  kHung,
};

struct HangSearch {
  RecordsEnd end = RecordsEnd::kFinished;
  // Independent causes; those that more ranks wait for come first. None at an open end: most ranks wait for longer than
  // ever, or all are inside of an operation, and the records do not show for whom.
  std::vector<Hang> hangs;
  std::vector<int32_t> blocked_ranks;  // rank indices that stand at an operation, rising
  std::vector<int32_t> unseen_ranks;   // whose records end before what others prove that they did
  std::vector<int32_t> quiet_ranks;    // that were looked at long after their last record, rising
  int32_t free_ranks = 0;              // no cause, and wait for none of the causes
  size_t standing_ranks = 0;           // that wait for longer than ever; 0 = there are causes, or nobody was looked at
  size_t inside_ranks = 0;             // all of them: nobody was looked at, and there are no causes; else 0
  int32_t left_out = 0;                // causes beyond those that can be looked at
};

// `stalls_pass`: the job is known to wait now and then for single ranks that stall and go on. Then only death, a wait
// that some clock shows to be long, and what no stall looks like (a cycle, calls that differ) tell a hang.
HangSearch SearchHangs(const Frontier& frontier, bool stalls_pass);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HANG_SEARCH_H_
