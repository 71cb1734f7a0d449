// One cause for which a job does not go on. Pure values.

#ifndef LOCKSTEP_DETECTOR_HANG_HANG_H_
#define LOCKSTEP_DETECTOR_HANG_HANG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "detector/hang/blocked_operation.h"
#include "detector/model/input.h"
#include "detector/model/trace.h"
#include "detector/model/tuning.h"

namespace lockstep {

enum class HangKind : uint8_t {
  kNotEntered,   // the ranks have not called the operation, or their GPU has not begun it
  kNotFinished,  // others have finished it, these ranks not
  kHalted,       // all are inside; the processes of these ranks are stopped, dead, or wait for a device
  kStopped,      // all are inside; the hosts of these ranks stopped calling before those of all others
  kTransfer,     // all are inside and nobody gets out
  kMismatch,     // different operations, sizes or ways to carry them out, at the same sequence number
  kDeadlock,
};

// Why nobody is accused of a hang.
enum class Doubt : uint8_t {
  kNone,
  kLost,  // one of the ranks of all hangs is the cause, and lost records show the others
  kMany,  // there are more causes than come at once: they wait for something that is not recorded
  kGaps,  // kTransfer: the records do not show whether all are inside
};

struct Hang {
  HangKind kind = HangKind::kNotEntered;
  std::vector<int32_t> ranks;       // rank indices, rising: exactly the cause, or those that cannot be told apart
  std::vector<int32_t> unrecorded;  // numbers of ranks without a record that may be the cause, rising
  uint64_t more_unrecorded = 0;     // kGaps: and ranks like them, of which the number is not known
  bool begins_seen = true;          // of kTransfer: the GPUs of all are known to have begun it
  bool sizes_known = true;          // of kTransfer: and that they called it with one size, where they must
  bool called = false;              // kNotEntered: the hosts have called it, the GPUs have not begun
  bool stopped_calling = false;     // of these, and the hosts stopped calling far before those of all others
  int32_t communicator = -1;        // where the others wait, or stand
  uint64_t sequence = 0;
  OperationKind operation = OperationKind::kUnknown;
  Tuning tuning;                       // of the operation, as far as known
  std::optional<Tuning> other_tuning;  // kMismatch: the ranks' call is the same, but for this
  int32_t waiting = 0;                 // ranks at that operation
  int32_t victims = 0;                 // ranks that wait, directly or over others
  std::vector<int32_t> first_victims;  // at most kMaxVictims rank indices, rising
  int64_t waited_ns = 0;               // the longest time inside that one host's clock shows; 0 = not known
  Doubt doubt = Doubt::kNone;
  bool longest_ever = false;  // unlike anything before (Precedents); not looked at where other things tell a hang
};
// As many as a sentence lists (verdict/wording.cc).
inline constexpr size_t kMaxVictims = 8;

// A cause without ranks, at an operation.
inline Hang HangAt(HangKind kind, const Trace& trace, const BlockedOperation& blocked) {
  return {.kind = kind,
          .communicator = blocked.communicator,
          .sequence = blocked.sequence,
          .operation = blocked.kind,
          .tuning = trace.operations[blocked.operations.front()].tuning,
          .waiting = static_cast<int32_t>(blocked.at.size())};
}

// Of several operations at which one cause shows, told of is the one in which most ranks wait. Names of communicators
// must not decide.
inline bool ToldBefore(const Hang& a, const Hang& b) {
  return std::tuple(-a.waiting, a.operation, a.sequence) < std::tuple(-b.waiting, b.operation, b.sequence);
}

// Whether the hosts of its ranks stopped calling while all others went on.
inline bool HasStoppedCalling(const Hang& hang) { return hang.kind == HangKind::kStopped || hang.stopped_calling; }

inline bool IsDead(const TraceRank& rank) {
  return rank.process_state == ProcessState::kGone || rank.process_state == ProcessState::kZombie;
}

// The process cannot go on: it is dead, or was stopped.
inline bool IsGone(const TraceRank& rank) { return IsDead(rank) || rank.process_state == ProcessState::kStopped; }

inline bool HasGone(const Trace& trace, const Hang& hang) {
  return std::any_of(hang.ranks.begin(), hang.ranks.end(),
                     [&trace](int32_t rank) { return IsGone(trace.ranks[static_cast<size_t>(rank)]); });
}

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_HANG_H_
