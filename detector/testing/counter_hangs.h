// Why a job does not go on: the ranks that others wait for and that wait for nobody.
//
// Every rank that has been inside an operation for too long waits for the members that have not entered it. Following
// these edges over all communicators ends at roots: ranks that have not entered and wait for nobody; an operation that
// all have entered and that does not end; or a cycle. Progress is only as fresh as its report: a member is held to
// have "not entered" only when its own report shows so long enough after the waiting one entered. Ranks whose recorder
// ended or gave up, or who may wait in a communicator of unknown size, are never accused. Pure: looks at a roster. Cost
// O(ranks + memberships of stuck communicators).

#ifndef LOCKSTEP_DETECTOR_TESTING_COUNTER_HANGS_H_
#define LOCKSTEP_DETECTOR_TESTING_COUNTER_HANGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "detector/input.h"
#include "detector/roster.h"
#include "detector/tuning.h"

namespace lockstep::old {

struct HangSearchOptions {
  int64_t timeout_ns = 4'000'000'000;
  int64_t host_silent_ns = 15'000'000'000;
};

enum class HangKind : uint8_t {
  kNotEntered,       // ranks that others wait for and that wait for nobody
  kInCommunication,  // all have entered; these do not get out
  kMismatch,         // different operations, or differently carried out, at the same place
  kDeadlock,         // a cycle
};

struct Hang {
  HangKind kind = HangKind::kNotEntered;
  std::vector<int32_t> culprits;   // rank slots, by rank; the suspects
  bool certain = true;             // false: the members cannot be told apart
  int32_t communicator_slot = -1;  // where the others wait for them
  uint64_t sequence = 0;           // of the operation that does not end
  OperationKind operation = OperationKind::kUnknown;
  Tuning tuning;                       // of the member that entered first
  std::optional<Tuning> other_tuning;  // kMismatch: the culprits' call is the same, but for this
  int32_t waiting = 0;                 // ranks that are stuck in this communicator
  int64_t longest_wait_ns = 0;
  std::vector<int32_t> victims;  // rank slots on the way from the waiting ones; at most kMaxVictims
};
inline constexpr size_t kMaxVictims = 8;

struct HangSearch {
  std::vector<Hang> hangs;  // independent roots
  int32_t stuck_ranks = 0;  // inside an operation for longer than the timeout
  int64_t longest_wait_ns = 0;
  bool all_outside = false;      // every living rank is outside of any operation, for longer than the timeout
  int64_t shortest_idle_ns = 0;  // of those
};

HangSearch SearchHangs(const Roster& roster, const HangSearchOptions& options);

}  // namespace lockstep::old

#endif  // LOCKSTEP_DETECTOR_TESTING_COUNTER_HANGS_H_
