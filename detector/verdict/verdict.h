// A conclusion about one job: who or what is to blame, since when, at what cost, and why.
//
// A finding is one of three things, and says which when it is made:
//   - an accusation names a cause. Scopes machine and network may cost somebody a node. Software, structural and job
//     name a cause that lies with no machine; they are accusations too, since the cause is as certain.
//   - an observation: something stands out, and whether it is a cause is not proven. Scope unknown, its class, advice
//     observe.
//   - an abstention concludes nothing, for a reason. Scope unknown, no class ("unknown"), no culprit, advice none.
//
// The words are those of `lockstep diagnose` (scope, class, advice, evidence kind). Pure values; thread-compatible.

#ifndef LOCKSTEP_DETECTOR_VERDICT_VERDICT_H_
#define LOCKSTEP_DETECTOR_VERDICT_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "detector/verdict/reason.h"

namespace lockstep {

enum class FindingType : uint8_t { kAccusation, kObservation, kAbstention };

// kUnknown: of observations and abstentions. kMachine and kNetwork may cost somebody a node; the others blame no
// machine.
enum class VerdictScope : uint8_t { kUnknown, kMachine, kNetwork, kSoftware, kStructural, kJob };

// An abstention has none of these; its class reads "unknown".
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

// A class that has to be said: an aggregate that has one as a member does not compile without it.
class StatedClass {
 public:
  StatedClass(VerdictClass value) : value_(value) {}  // NOLINT(google-explicit-constructor): stands for the value
  operator VerdictClass() const { return value_; }    // NOLINT(google-explicit-constructor)

 private:
  VerdictClass value_;
};

enum class Advice : uint8_t { kNone, kObserve, kCordonAndReplace, kCheckLink, kCheckSoftware, kRebalance };

enum class EvidenceKind : uint8_t { kLateness, kDelayMatrix, kProgress, kCounter, kLog, kWhatIf, kAbstained };

// Whether steps go on, and whether something is wrong with them; or how the job ended.
enum class JobState : uint8_t {
  kUnknown,
  kHealthy,
  kSlow,
  kIrregular,
  kHung,
  kEnded,    // in order, as far as is known
  kStopped,  // by signals from outside, all of it
  kFailed,   // somebody died
  kGone,     // nobody is left, and how some of them ended is not known
};

// The snake_case names of the JSON interface.
const char* Name(VerdictScope scope);
const char* Name(VerdictClass verdict_class);
const char* Name(Advice advice);
const char* Name(EvidenceKind kind);
const char* Name(JobState state);

// The class of this name; none for one that this program does not know, such as that of a newer one.
std::optional<VerdictClass> ClassOf(absl::string_view name);

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

// What removing the culprits would give back, everything else left as it is.
struct Cost {
  double slowdown_fraction = 0;  // (step time with - without) / with, over all steps since onset
  double seconds_per_step = 0;
  double steps_affected_fraction = 0;  // 0 to 1
  double hidden_fraction = 0;  // of the step time: what else is its part of the loss, and something else hides now

  bool any() const { return slowdown_fraction > 0 || hidden_fraction > 0; }

  bool operator==(const Cost&) const = default;
};

struct Evidence {
  EvidenceKind kind = EvidenceKind::kAbstained;
  Reason reason;

  // One plain sentence with numbers and units.
  std::string text() const { return Sentence(reason); }

  bool operator==(const Evidence&) const = default;
};

// Made by one of three factories; there is no finding without a type and a class. The type follows from scope and
// class, so that the three cannot contradict each other.
struct Verdict {
  // Of any scope but unknown. Advice none.
  static Verdict Accusation(VerdictScope scope, VerdictClass verdict_class);
  // Advice observe.
  static Verdict Observation(VerdictClass verdict_class);
  // Advice none; the reason is the evidence.
  static Verdict Abstention(Reason reason);

  FindingType type() const;
  // One more reason. Of abstentions only.
  void Add(Reason reason);
  // Takes back the blame of an accusation; what was seen stays.
  void BecomeObservation();

  VerdictScope scope;
  VerdictClass verdict_class;
  std::vector<Culprit> culprits;  // most likely first
  int64_t first_step = -1;        // -1 = unknown
  int64_t last_step = -1;
  int64_t first_seen_ns = 0;  // collector's clock; estimated onset
  int64_t last_seen_ns = 0;
  Cost cost;
  std::vector<Evidence> evidence;  // in causal order: the chain that an operator reads from top to bottom
  Advice advice = Advice::kNone;

  bool operator==(const Verdict&) const = default;

 private:
  // Outside of the enumeration, so that only an abstention can have it.
  static constexpr auto kNoClass = static_cast<VerdictClass>(UINT8_MAX);

  Verdict(VerdictScope scope, VerdictClass verdict_class, Advice advice)
      : scope(scope), verdict_class(verdict_class), advice(advice) {}
};

// What the incident is called that an abstention of slowness without a known cause (job_state.h) becomes when it lasts.
// No verdict has this class: nothing is accused.
inline constexpr char kSlowUnexplained[] = "slow_unexplained";

// The first reason of this kind among the evidence; nullptr = none.
template <typename Kind>
const Kind* FindReason(const Verdict& verdict) {
  for (const Evidence& evidence : verdict.evidence) {
    if (const Kind* const reason = evidence.reason.As<Kind>()) return reason;
  }
  return nullptr;
}

// Scope machine or network: somebody may lose a node over it.
bool AccusesNode(const Verdict& verdict);
// A pause that the program plans: it takes time, and yet nothing is wrong. Advice none; other pauses are to be
// observed.
bool IsPlanned(const Verdict& verdict);

// Whether the cause keeps the whole job from going on. By name: false for a class that this program does not know.
bool IsHang(VerdictClass verdict_class);
bool IsHang(absl::string_view class_name);
// A hang in which ranks stand in functions, so that their stacks tell which: nobody died and no hardware failed.
bool IsHangInCalls(VerdictClass verdict_class);
bool IsHangInCalls(absl::string_view class_name);

// Identity of the cause, the same for every later verdict about it: class family and culprits, without numbers that
// change. Two hang classes of one rank are one cause, since a hang may be seen from outside before it is understood.
std::string CauseKey(const Verdict& verdict);

// The verdict as one line of JSON with fixed field order and fixed float format: equal verdicts give equal bytes.
std::string ToJsonLine(const Verdict& verdict);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_VERDICT_VERDICT_H_
