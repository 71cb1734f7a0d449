// Who of the ranks that died was the first, and who only followed.
//
// A death takes the others with it: the launcher ends them (SIGTERM, then SIGKILL), or they wait in vain until NCCL
// gives up. So only the first is a cause. Moments of one host are compared on its own clock. Those of different hosts
// are compared as their reports came in, which is sure to kAcrossHostsNs only; within that, and within what an agent
// does not know of a moment, how they ended tells (EndManner).
//
// Whoever ended in order (finalized, or exit code 0) has not died. One of which nobody knows how it ended counts only
// where others are known to have died, or where somebody surely vanished inside of an operation: a blocking call, or
// one that had gone on for seconds. What a GPU had just begun may be left behind by an end in order.
//
// Pure: looks at a roster and at what kernels said. Cost O(ranks), and O(d log d) of d dead ones.

#ifndef LOCKSTEP_DETECTOR_HANG_FIRST_DEATH_H_
#define LOCKSTEP_DETECTOR_HANG_FIRST_DEATH_H_

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "detector/hardware/evidence_log.h"
#include "detector/model/process_end.h"
#include "detector/model/roster.h"

namespace lockstep {

// How a process ended. In the order in which, of two that cannot be told apart in time, one is believed to be a cause.
enum class EndManner : uint8_t {
  kCrashed,  // a signal that a bug or broken hardware raises (SIGSEGV), or more memory than there was
  kKilled,   // SIGKILL, from outside
  kFailed,   // an exit code, SIGABRT: by its own doing, also because a peer was gone
  kUnknown,  // nobody knows
  kAsked,    // SIGTERM and the like, from outside: as launchers end those that are left
  kOrderly,
};

// By how much moments of two hosts may be off: reports wait in queues, for well below the second between two of them.
inline constexpr int64_t kAcrossHostsNs = kNanosPerSecond / 2;

// SIGKILL works at once, and a scheduler goes from host to host. By judgement, not measured.
inline constexpr int64_t kKillSpanNs = 5 * kNanosPerSecond;

struct Death {
  int32_t rank_slot = -1;
  EndManner manner = EndManner::kUnknown;
  ProcessEnd end;  // as its agent tells, or else the log of its host's kernel
  MemoryKill for_memory = MemoryKill::kNone;
};

struct Deaths {
  std::vector<Death> first;      // by rank; several = too near to each other to tell
  std::vector<Death> followers;  // by time
  // Everybody was ended from outside at one time: on each host the first was asked to end, or all were killed. That is
  // no fault. Only sure when all ranks are over.
  bool stopped = false;

  bool any() const { return !first.empty(); }
  // Whether this rank has died, and is no cause.
  bool Followed(int32_t rank_slot) const;
};

// For how long a dead rank had been inside of what it was in at its end. Reports that come later count on.
int64_t InsideAtEndNs(const RankProcess& rank, const Member& member);

// Of one that is over: nobody saw it finalize, and nobody knows how it ended.
inline bool EndIsUnknown(const RankProcess& rank) { return !rank.finalized && !rank.end.known(); }

// How the process of a dead rank ended.
Death DeathOf(const Roster& roster, int32_t rank_slot, const EvidenceLog& log);

// Of all ranks that are dead by now.
Deaths OrderDeaths(const Roster& roster, const EvidenceLog& log);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_FIRST_DEATH_H_
