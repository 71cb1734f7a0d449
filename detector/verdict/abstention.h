// Why nothing is concluded about a job, or about a part of it: typed reasons with their numbers, and their sentences.
//
// A reason carries what its sentence says, so that logic never has to read English. Names of ranks and hosts come ready
// made from the caller. Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_VERDICT_ABSTENTION_H_
#define LOCKSTEP_DETECTOR_VERDICT_ABSTENTION_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lockstep {

struct NoRecords {
  bool operator==(const NoRecords&) const = default;
};

struct FewSteps {
  int32_t steps = 0;
  int32_t required = 0;
  bool operator==(const FewSteps&) const = default;
};

// Any of the missing ranks may be the one that the others wait for.
struct MissingRanks {
  uint64_t missing = 0;
  uint64_t all = 0;
  bool operator==(const MissingRanks&) const = default;
};

struct RanksWithoutTimes {
  uint64_t without = 0;
  uint64_t all = 0;
  bool operator==(const RanksWithoutTimes&) const = default;
};

struct LostRecords {
  uint64_t lost = 0;
  uint64_t all = 0;
  bool operator==(const LostRecords&) const = default;
};

// No two ranks are known to take part in the same operation.
struct NoMeeting {
  bool operator==(const NoMeeting&) const = default;
};

// The records end in a wait that may have passed.
struct OpenWait {
  uint64_t waiting = 0;
  uint64_t ranks = 0;
  std::string waited_for;  // ranks, or a communicator
  uint64_t other_causes = 0;
  bool operator==(const OpenWait&) const = default;
};

// Steps take longer since some step, and findings explain less than half of it.
struct SlowWithoutCause {
  int32_t first_step = 0;
  double before_seconds = 0;
  double after_seconds = 0;
  double unexplained_seconds = 0;
  double error_seconds = 0;
  // Ranks whose own work grew by half of what was lost or more.
  uint64_t longer_ranks = 0;
  uint64_t ranks = 0;
  std::string most_grown;  // name of one of them; empty if longer_ranks is 0
  double most_seconds = 0;
  bool operator==(const SlowWithoutCause&) const = default;
};

// Counters alone, and too few of them.
struct FewCounters {
  int32_t machines = 0;
  double seconds = 0;
  double required_seconds = 0;
  bool operator==(const FewCounters&) const = default;
};

// What the reader of an input said about it, as a whole sentence. No logic depends on it.
struct InputNote {
  std::string text;
  bool operator==(const InputNote&) const = default;
};

using AbstentionReason = std::variant<NoRecords, FewSteps, MissingRanks, RanksWithoutTimes, LostRecords, NoMeeting,
                                      OpenWait, SlowWithoutCause, FewCounters, InputNote>;

// In the order in which an operator reads them; never empty.
std::vector<std::string> Sentences(const AbstentionReason& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_ABSTENTION_H_
