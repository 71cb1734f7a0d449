// A conclusion about one job: who or what is to blame, since when, at what cost, and why.
//
// The words are those of `lockstep diagnose` (scope, class, advice, evidence kind). Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_VERDICT_VERDICT_H_
#define LOCKSTEP_DETECTOR_VERDICT_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// kMachine and kNetwork are accusations that may cost somebody a node; the others blame no machine.
enum class VerdictScope : uint8_t { kUnknown, kMachine, kNetwork, kSoftware, kStructural, kJob };

enum class VerdictClass : uint8_t {
  kComputeSlow,
  kHostSlow,
  kCommSlowTx,
  kCommSlowRx,
  kLinkSlow,
  kGroupSlow,
  kNvlinkSlow,
  kHangNotEntered,
  kHangInCommunication,
  kCollectiveMismatch,
  kDeadlock,
  kProcessDead,
  kMachineUnreachable,
  kGpuFault,
  kPcieDegraded,
  kClockThrottled,
  kStorageStall,
  kSequenceImbalance,
  kStageImbalance,
  kExpertImbalance,
  kJobRegression,
  kPause,
  kDrift,
  kCounterOutlier,
};

enum class Advice : uint8_t { kNone, kObserve, kCordonAndReplace, kCheckLink, kCheckSoftware, kRebalance };

enum class EvidenceKind : uint8_t { kLateness, kDelayMatrix, kProgress, kCounter, kLog, kWhatIf, kAbstained };

// Whether steps go on, and whether something is wrong with them.
enum class JobState : uint8_t { kUnknown, kHealthy, kSlow, kIrregular, kHung, kEnded };

// The snake_case names of the JSON interface.
const char* Name(VerdictScope scope);
const char* Name(VerdictClass verdict_class);
const char* Name(Advice advice);
const char* Name(EvidenceKind kind);
const char* Name(JobState state);

// As precise as the evidence and no more: rank -1 = the whole host; host empty = no host can be named.
struct Culprit {
  std::string host;
  int32_t rank = -1;
  int32_t gpu = -1;
  int32_t pid = 0;
  std::string device;
  std::string peer_host;
  double confidence = 0;  // 0 to 1

  bool operator==(const Culprit&) const = default;
};

// What healing the culprits would give back.
struct Cost {
  double slowdown_fraction = 0;  // (step time with - without) / with, over all steps since onset
  double seconds_per_step = 0;
  double steps_affected_fraction = 0;  // 0 to 1

  bool operator==(const Cost&) const = default;
};

// One plain sentence with numbers and units.
struct Evidence {
  EvidenceKind kind = EvidenceKind::kAbstained;
  std::string text;

  bool operator==(const Evidence&) const = default;
};

struct Verdict {
  VerdictScope scope = VerdictScope::kUnknown;
  VerdictClass verdict_class = VerdictClass::kCounterOutlier;
  std::vector<Culprit> culprits;  // most likely first
  int64_t first_step = -1;        // -1 = unknown
  int64_t last_step = -1;
  int64_t first_seen_ns = 0;  // collector's clock; estimated onset
  int64_t last_seen_ns = 0;
  Cost cost;
  std::vector<Evidence> evidence;  // in causal order: the chain that an operator reads from top to bottom
  Advice advice = Advice::kNone;

  bool operator==(const Verdict&) const = default;
};

// Whether the cause keeps the whole job from going on.
bool IsHang(VerdictClass verdict_class);

// Identity of the cause, the same for every later verdict about it: class family and culprits, without numbers that
// change. Two hang classes of one rank are one cause, since a hang may be seen from outside before it is understood.
std::string CauseKey(const Verdict& verdict);

// The verdict as one line of JSON with fixed field order and fixed float format: equal verdicts give equal bytes.
std::string ToJsonLine(const Verdict& verdict);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_VERDICT_H_
