#include "detector/verdict/verdict.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/fnv1a.h"

namespace lockstep {
namespace {

// More culprits than this are folded into a hash, so that a key stays short whatever a job does.
constexpr size_t kMaxCulpritsInKey = 8;

constexpr const char* kScopes[] = {"unknown", "machine", "network", "software", "structural", "job"};
static_assert(std::size(kScopes) == static_cast<size_t>(VerdictScope::kJob) + 1);

// What the cause does to the job.
enum class Effect : uint8_t { kSlows, kStops, kStopsInCalls };

struct ClassInfo {
  const char* name;
  const char* family;  // classes that may be seen one after the other of one and the same cause
  Effect effect = Effect::kSlows;
};

constexpr ClassInfo kClasses[] = {
    {"compute_slow", "slow"},
    {"host_slow", "slow"},
    {"comm_slow_tx", "comm_slow"},
    {"comm_slow_rx", "comm_slow"},
    {"link_slow", "comm_slow"},
    {"group_slow", "comm_slow"},
    {"nvlink_slow", "comm_slow"},
    {"hang_not_entered", "hang", Effect::kStopsInCalls},
    {"hang_in_communication", "hang", Effect::kStopsInCalls},
    {"collective_mismatch", "collective_mismatch", Effect::kStopsInCalls},
    {"deadlock", "deadlock", Effect::kStopsInCalls},
    {"process_dead", "hang", Effect::kStops},
    {"machine_unreachable", "hang", Effect::kStops},
    {"gpu_fault", "hang", Effect::kStops},
    {"pcie_degraded", "slow"},
    {"clock_throttled", "slow"},
    {"storage_stall", "slow"},
    {"sequence_imbalance", "sequence_imbalance"},
    {"stage_imbalance", "stage_imbalance"},
    {"expert_imbalance", "expert_imbalance"},
    {"job_regression", "job_regression"},
    {"pause", "pause"},
    {"drift", "drift"},
    {"counter_outlier", "counter_outlier"},
};
static_assert(std::size(kClasses) == static_cast<size_t>(VerdictClass::kCounterOutlier) + 1);

constexpr const char* kAdvice[] = {"none",       "observe",        "cordon_and_replace",
                                   "check_link", "check_software", "rebalance"};
static_assert(std::size(kAdvice) == static_cast<size_t>(Advice::kRebalance) + 1);

constexpr const char* kEvidence[] = {"lateness", "delay_matrix", "progress", "counter", "log", "whatif", "abstained"};
static_assert(std::size(kEvidence) == static_cast<size_t>(EvidenceKind::kAbstained) + 1);

constexpr const char* kStates[] = {"unknown", "healthy", "slow",   "irregular", "hung",
                                   "ended",   "stopped", "failed", "gone"};
static_assert(std::size(kStates) == static_cast<size_t>(JobState::kGone) + 1);

template <size_t kSize, typename Enum>
const char* Lookup(const char* const (&names)[kSize], Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < kSize ? names[index] : "unknown";
}

// nullptr = of none, as abstentions have.
const ClassInfo* InfoOf(VerdictClass verdict_class) {
  const auto index = static_cast<size_t>(verdict_class);
  return index < std::size(kClasses) ? &kClasses[index] : nullptr;
}

Effect EffectOf(VerdictClass verdict_class) {
  const ClassInfo* const info = InfoOf(verdict_class);
  return info == nullptr ? Effect::kSlows : info->effect;
}

const char* FamilyOf(const Verdict& verdict) {
  if (const ClassInfo* const info = InfoOf(verdict.verdict_class)) return info->family;
  return FindReason<SlowWithoutCause>(verdict) != nullptr ? kSlowUnexplained : "unknown";
}

std::string CulpritKey(const Culprit& culprit) {
  std::string key = culprit.host;
  // Which rank uses a device may become known later, and does not make it another one.
  if (culprit.rank >= 0 && culprit.device.empty()) absl::StrAppend(&key, "/rank", culprit.rank);
  if (!culprit.device.empty()) absl::StrAppend(&key, "/", culprit.device);
  if (!culprit.peer_host.empty()) absl::StrAppend(&key, "->", culprit.peer_host);
  return key;
}

void AppendString(std::string* out, absl::string_view text) {
  out->push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(out, "\\u%04x", byte);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

void AppendNumber(std::string* out, double value) {
  // JSON knows no NaN or infinity, and "-0" would be a second spelling of zero.
  if (!std::isfinite(value) || value == 0) value = 0;
  absl::StrAppendFormat(out, "%.6g", value);
}

void AppendCulprit(std::string* out, const Culprit& culprit) {
  absl::StrAppend(out, "{\"host\":");
  AppendString(out, culprit.host);
  absl::StrAppend(out, ",\"rank\":", culprit.rank, ",\"gpu\":", culprit.gpu, ",\"pid\":", culprit.pid, ",\"device\":");
  AppendString(out, culprit.device);
  absl::StrAppend(out, ",\"peer_host\":");
  AppendString(out, culprit.peer_host);
  absl::StrAppend(out, ",\"confidence\":");
  AppendNumber(out, culprit.confidence);
  absl::StrAppend(out, "}");
}

}  // namespace

const char* Name(VerdictScope scope) { return Lookup(kScopes, scope); }
const char* Name(Advice advice) { return Lookup(kAdvice, advice); }
const char* Name(EvidenceKind kind) { return Lookup(kEvidence, kind); }
const char* Name(JobState state) { return Lookup(kStates, state); }

const char* Name(VerdictClass verdict_class) {
  const ClassInfo* const info = InfoOf(verdict_class);
  return info == nullptr ? "unknown" : info->name;
}

std::optional<VerdictClass> ClassOf(absl::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kClasses), std::end(kClasses), [&](const ClassInfo& info) { return name == info.name; });
  if (found == std::end(kClasses)) return std::nullopt;
  return static_cast<VerdictClass>(found - std::begin(kClasses));
}

Verdict Verdict::Accusation(VerdictScope scope, VerdictClass verdict_class) {
  CHECK(scope != VerdictScope::kUnknown);
  return Verdict(scope, verdict_class, Advice::kNone);
}

Verdict Verdict::Observation(VerdictClass verdict_class) {
  return Verdict(VerdictScope::kUnknown, verdict_class, Advice::kObserve);
}

Verdict Verdict::Abstention(Reason reason) {
  Verdict verdict(VerdictScope::kUnknown, kNoClass, Advice::kNone);
  verdict.Add(std::move(reason));
  return verdict;
}

FindingType Verdict::type() const {
  if (verdict_class == kNoClass) return FindingType::kAbstention;
  return scope == VerdictScope::kUnknown ? FindingType::kObservation : FindingType::kAccusation;
}

void Verdict::Add(Reason reason) {
  CHECK(type() == FindingType::kAbstention);
  evidence.push_back({EvidenceKind::kAbstained, std::move(reason)});
}

void Verdict::BecomeObservation() {
  CHECK(type() != FindingType::kAbstention);
  scope = VerdictScope::kUnknown;
  advice = Advice::kObserve;
}

bool IsPlanned(const Verdict& verdict) {
  return verdict.verdict_class == VerdictClass::kPause && verdict.advice == Advice::kNone;
}

bool AccusesNode(const Verdict& verdict) {
  return verdict.scope == VerdictScope::kMachine || verdict.scope == VerdictScope::kNetwork;
}

bool IsHang(VerdictClass verdict_class) { return EffectOf(verdict_class) != Effect::kSlows; }

bool IsHang(absl::string_view class_name) {
  const std::optional<VerdictClass> verdict_class = ClassOf(class_name);
  return verdict_class.has_value() && IsHang(*verdict_class);
}

bool IsHangInCalls(VerdictClass verdict_class) { return EffectOf(verdict_class) == Effect::kStopsInCalls; }

bool IsHangInCalls(absl::string_view class_name) {
  const std::optional<VerdictClass> verdict_class = ClassOf(class_name);
  return verdict_class.has_value() && IsHangInCalls(*verdict_class);
}

std::string CauseKey(const Verdict& verdict) {
  std::vector<std::string> culprits;
  culprits.reserve(verdict.culprits.size());
  for (const Culprit& culprit : verdict.culprits) culprits.push_back(CulpritKey(culprit));
  std::sort(culprits.begin(), culprits.end());
  std::string key = absl::StrCat(FamilyOf(verdict), ":");
  uint64_t hash = kFnv1aOfNothing;
  for (size_t i = 0; i < culprits.size(); ++i) {
    hash = Fnv1a(Fnv1a(hash, culprits[i]), "\n");
    if (i < kMaxCulpritsInKey) absl::StrAppend(&key, i == 0 ? "" : ",", culprits[i]);
  }
  if (culprits.size() > kMaxCulpritsInKey)
    absl::StrAppendFormat(&key, ",+%d#%016x", culprits.size() - kMaxCulpritsInKey, hash);
  return key;
}

std::string ToJsonLine(const Verdict& verdict) {
  std::string out = absl::StrCat("{\"scope\":\"", Name(verdict.scope), "\",\"class\":\"", Name(verdict.verdict_class),
                                 "\",\"culprits\":[");
  for (size_t i = 0; i < verdict.culprits.size(); ++i) {
    if (i > 0) out.push_back(',');
    AppendCulprit(&out, verdict.culprits[i]);
  }
  absl::StrAppend(&out, "],\"first_step\":", verdict.first_step, ",\"last_step\":", verdict.last_step,
                  ",\"first_seen_ns\":", verdict.first_seen_ns, ",\"last_seen_ns\":", verdict.last_seen_ns,
                  ",\"cost\":{\"slowdown_fraction\":");
  AppendNumber(&out, verdict.cost.slowdown_fraction);
  absl::StrAppend(&out, ",\"seconds_per_step\":");
  AppendNumber(&out, verdict.cost.seconds_per_step);
  absl::StrAppend(&out, ",\"steps_affected_fraction\":");
  AppendNumber(&out, verdict.cost.steps_affected_fraction);
  absl::StrAppend(&out, "},\"evidence\":[");
  for (size_t i = 0; i < verdict.evidence.size(); ++i) {
    absl::StrAppend(&out, i == 0 ? "" : ",", "{\"kind\":\"", Name(verdict.evidence[i].kind), "\",\"text\":");
    AppendString(&out, verdict.evidence[i].text());
    out.push_back('}');
  }
  absl::StrAppend(&out, "],\"advice\":\"", Name(verdict.advice), "\"}");
  return out;
}

}  // namespace lockstep
