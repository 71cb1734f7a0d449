// Why nothing is concluded about a job, or about a part of it, and the sentences. Pure values.

#ifndef LOCKSTEP_DETECTOR_VERDICT_ABSTENTION_H_
#define LOCKSTEP_DETECTOR_VERDICT_ABSTENTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/verdict/wording.h"

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
  std::vector<int32_t> ranks = {};  // of the missing ones, if it is said which
  bool operator==(const MissingRanks&) const = default;
};

// Of ranks many operations have no times, or none that tell waiting from working.
struct RanksWithoutTimes {
  uint64_t without = 0;
  uint64_t all = 0;
  std::vector<int32_t> ranks = {};  // likewise
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
  std::vector<int32_t> waited_for;  // ranks; empty = the communicator
  CommunicatorName communicator;
  uint64_t other_causes = 0;
  bool since_ever = true;  // where nobody is waited for: most of them for longer than ever before
  bool operator==(const OpenWait&) const = default;
};

// Steps take longer since some step, all or a share of them, and findings explain less than half of it.
struct SlowWithoutCause {
  int32_t first_step = 0;
  double before_seconds = 0;
  double after_seconds = 0;
  double unexplained_seconds = 0;  // per step, in the mean
  double error_seconds = 0;
  double share = 1;
  // Of all steps since then.
  double mean_seconds() const { return before_seconds + share * (after_seconds - before_seconds); }
  bool operator==(const SlowWithoutCause&) const = default;
};

// On whom it shows: ranks whose own work grew by half of what was lost or more.
struct LongerWork {
  uint64_t longer_ranks = 0;
  uint64_t ranks = 0;
  RankName most_grown;  // if longer_ranks is not 0
  double most_seconds = 0;
  bool operator==(const LongerWork&) const = default;
};

// Causes of slowness that were looked for, and are not there.
struct CausesRuledOut {
  bool operator==(const CausesRuledOut&) const = default;
};

// Counters alone, and too few of them.
struct FewCounters {
  int32_t machines = 0;
  double seconds = 0;
  double required_seconds = 0;
  bool operator==(const FewCounters&) const = default;
};

// Agents were asked, and none had records.
struct NoRecordsSent {
  bool operator==(const NoRecordsSent&) const = default;
};

// Times of the host, or of a proxy, that do not tell waiting from working.
struct TimesOfHandingOver {
  bool operator==(const TimesOfHandingOver&) const = default;
};

// What recurs in the records may be a part of a step.
struct StepLengthUnknown {
  bool operator==(const StepLengthUnknown&) const = default;
};

// Of counters: more machines stand out at one time than one cause has, each in its own way.
struct CrowdOfMachines {
  uint64_t machines = 0;
  uint64_t all = 0;
  bool operator==(const CrowdOfMachines&) const = default;
};

// What the reader of an input said about it, as a whole sentence. No logic depends on it.
struct InputNote {
  std::string text;
  bool operator==(const InputNote&) const = default;
};

std::string Sentence(const NoRecords& reason);
std::string Sentence(const FewSteps& reason);
std::string Sentence(const MissingRanks& reason);
std::string Sentence(const RanksWithoutTimes& reason);
std::string Sentence(const LostRecords& reason);
std::string Sentence(const NoMeeting& reason);
std::string Sentence(const OpenWait& reason);
std::string Sentence(const SlowWithoutCause& reason);
std::string Sentence(const LongerWork& reason);
std::string Sentence(const CausesRuledOut& reason);
std::string Sentence(const FewCounters& reason);
std::string Sentence(const NoRecordsSent& reason);
std::string Sentence(const TimesOfHandingOver& reason);
std::string Sentence(const StepLengthUnknown& reason);
std::string Sentence(const CrowdOfMachines& reason);
std::string Sentence(const InputNote& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_ABSTENTION_H_
