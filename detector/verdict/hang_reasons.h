// Why a job is held to stand still, and because of whom; and the sentences. Pure values.

#ifndef LOCKSTEP_DETECTOR_VERDICT_HANG_REASONS_H_
#define LOCKSTEP_DETECTOR_VERDICT_HANG_REASONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "detector/model/input.h"
#include "detector/model/tuning.h"
#include "detector/verdict/wording.h"

namespace lockstep {

// Ranks by their numbers. The host of a single one, where it is known.
struct RankSet {
  std::vector<int32_t> ranks;
  std::string host;
  bool operator==(const RankSet&) const = default;
};

enum class HeldUp : uint8_t {
  kNotEntered,      // they have not called it
  kOneNotEntered,   // one of them has not called it, of the others the record of the call is lost
  kEachByItself,    // they seem to hold up others in many places, which is more than happens at once
  kNotBegun,        // their hosts have called it, the GPUs have not begun it
  kNotFinished,     // other members have finished it
  kNotLeft,         // they have entered it and cannot go on
  kStoppedCalling,  // all are inside; their hosts stopped calling before those of all others
};

// What makes these ranks the cause.
struct HeldUpRanks {
  HeldUp how = HeldUp::kNotEntered;
  RankSet ranks;
  OperationName operation;
  Tuning tuning;
  bool operator==(const HeldUpRanks&) const = default;
};

struct ProcessCannotRun {
  int32_t rank = -1;
  ProcessState state = ProcessState::kUnknown;  // stopped or uninterruptible; else dead
  bool operator==(const ProcessCannotRun&) const = default;
};

// How many wait, and for how long.
struct Waiters {
  int32_t victims = 0;
  uint64_t ranks = 0;
  int32_t waiting = 0;  // at the operation itself
  double waited_seconds = 0;
  bool live = false;                      // the wait of the longest waiter; else what one host's clock shows at least
  double longest_usual_step_seconds = 0;  // 0 = not known
  bool operator==(const Waiters&) const = default;
};

struct Victims {
  std::vector<int32_t> ranks;  // the first of them
  uint64_t more = 0;
  bool operator==(const Victims&) const = default;
};

struct HostSilence {
  std::string host;
  int32_t ranks = 0;
  double silent_seconds = 0;
  bool operator==(const HostSilence&) const = default;
};

// No host of the job reports any more, and other hosts of the fleet do.
struct JobSilence {
  std::string host;
  int32_t ranks = 0;
  double silent_seconds = 0;
  int32_t others_reporting = 0;
  bool operator==(const JobSilence&) const = default;
};

// All records of a host end at one moment.
struct HostRecordsEnd {
  std::string host;
  int32_t ranks = 0;
  OperationName waited_in;
  bool operator==(const HostRecordsEnd&) const = default;
};

struct DeadProcesses {
  uint64_t dead = 0;
  uint64_t all = 0;
  bool operator==(const DeadProcesses&) const = default;
};

struct MembersWithoutRecord {
  std::vector<int32_t> ranks;
  OperationName operation;
  bool operator==(const MembersWithoutRecord&) const = default;
};

// All members that are known of have come to an operation, and the records do not tell who of them holds it.
struct HolderUnknown {
  OperationName operation;
  uint64_t inside = 0;              // members that have come to it
  std::vector<int32_t> unrecorded;  // ranks that took part before, and left no record of it there either
  uint64_t more_unrecorded = 0;     // and members like them, of which the number is not known
  bool begins_seen = true;
  bool sizes_known = true;
  bool operator==(const HolderUnknown&) const = default;
};

struct StuckTransfer {
  std::vector<int32_t> ranks;
  OperationName operation;
  Tuning tuning;
  bool sizes_known = true;
  bool operator==(const StuckTransfer&) const = default;
};

// Members carry out one operation in different ways.
struct DifferentTuning {
  std::vector<int32_t> ranks;
  OperationName operation;
  Tuning theirs;
  Tuning usual;
  bool operator==(const DifferentTuning&) const = default;
};

struct DifferentCall {
  std::vector<int32_t> ranks;
  OperationName operation;
  bool operator==(const DifferentCall&) const = default;
};

struct DifferentOrder {
  std::vector<int32_t> ranks;
  OperationName operation;  // one of those that they wait in
  bool operator==(const DifferentOrder&) const = default;
};

struct NothingFinishedSince {
  bool operator==(const NothingFinishedSince&) const = default;
};

std::string Sentence(const HeldUpRanks& reason);
std::string Sentence(const ProcessCannotRun& reason);
std::string Sentence(const Waiters& reason);
std::string Sentence(const Victims& reason);
std::string Sentence(const HostSilence& reason);
std::string Sentence(const JobSilence& reason);
std::string Sentence(const HostRecordsEnd& reason);
std::string Sentence(const DeadProcesses& reason);
std::string Sentence(const MembersWithoutRecord& reason);
std::string Sentence(const HolderUnknown& reason);
std::string Sentence(const StuckTransfer& reason);
std::string Sentence(const DifferentTuning& reason);
std::string Sentence(const DifferentCall& reason);
std::string Sentence(const DifferentOrder& reason);
std::string Sentence(const NothingFinishedSince& reason);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_HANG_REASONS_H_
