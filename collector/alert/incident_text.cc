#include "collector/alert/incident_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "detector/verdict/verdict.h"

namespace lockstep {
namespace {

constexpr absl::string_view kLeftOut = "...";

std::string Who(const wire::Culprit& culprit) {
  std::string who = culprit.host().empty() ? "an unknown host" : culprit.host();
  if (culprit.rank() >= 0) absl::StrAppend(&who, " rank ", culprit.rank());
  const bool device_is_gpu = culprit.device() == absl::StrCat("gpu", culprit.gpu());
  if (culprit.gpu() >= 0 && !device_is_gpu) absl::StrAppend(&who, " gpu ", culprit.gpu());
  if (culprit.pid() > 0) absl::StrAppend(&who, " pid ", culprit.pid());
  if (!culprit.device().empty()) absl::StrAppend(&who, " ", culprit.device());
  if (!culprit.peer_host().empty()) absl::StrAppend(&who, " towards ", culprit.peer_host());
  return who;
}

bool IsInsideCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

const char* SeverityOf(absl::string_view verdict_class) { return IsHang(verdict_class) ? kCritical : kWarning; }

std::string SummaryOf(const wire::Incident& incident) {
  const wire::Verdict& verdict = incident.verdict();
  std::string summary = verdict.class_();
  if (!verdict.culprits().empty()) absl::StrAppend(&summary, " on ", Who(verdict.culprits(0)));
  if (verdict.culprits_size() > 1) absl::StrAppend(&summary, " and ", verdict.culprits_size() - 1, " more");
  return absl::StrCat(summary, " in job ", incident.job());
}

std::string HostOf(const wire::Incident& incident) {
  const wire::Verdict& verdict = incident.verdict();
  return verdict.culprits().empty() ? "" : verdict.culprits(0).host();
}

std::string GpuOf(const wire::Incident& incident) {
  if (incident.verdict().culprits().empty()) return "";
  const wire::Culprit& culprit = incident.verdict().culprits(0);
  if (culprit.gpu_pci_address().empty()) return culprit.gpu_uuid();
  const std::string uuid = culprit.gpu_uuid().empty() ? absl::StrCat("gpu", culprit.gpu()) : culprit.gpu_uuid();
  return absl::StrCat(uuid, " at ", culprit.gpu_pci_address());
}

std::string EvidenceText(const wire::Verdict& verdict) {
  std::string chain;
  for (const wire::Evidence& evidence : verdict.evidence()) {
    absl::StrAppend(&chain, chain.empty() ? "" : "\n", evidence.text());
  }
  return chain;
}

std::string CostText(const wire::Cost& cost) {
  if (cost.seconds_per_step() <= 0 && cost.slowdown_fraction() <= 0 && cost.hidden_fraction() <= 0) return "";
  std::string text =
      absl::StrFormat("%.1f %% of the step time, %.4g s per step, in %.0f %% of the steps",
                      100 * cost.slowdown_fraction(), cost.seconds_per_step(), 100 * cost.steps_affected_fraction());
  if (cost.hidden_fraction() > 0) {
    absl::StrAppendFormat(&text, "; %.1f %% more is hidden by other findings", 100 * cost.hidden_fraction());
  }
  return text;
}

std::string ResolutionText(const wire::Incident& incident) {
  const bool resolved = incident.state() == wire::Incident::STATE_RESOLVED && !incident.transitions().empty();
  return resolved ? incident.transitions().rbegin()->why() : "";
}

std::string RecurrenceText(const wire::Incident& incident) {
  std::vector<std::string> parts;
  if (incident.flapping()) {
    parts.push_back(absl::StrCat("It comes and goes (reopened ", incident.reopened(),
                                 incident.reopened() == 1 ? " time)." : " times)."));
  }
  if (incident.folds() > 0) parts.push_back(absl::StrCat("It stands for ", incident.folds(), " more."));
  return absl::StrJoin(parts, " ");
}

std::string FormatWallTime(int64_t wall_ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(wall_ns), absl::UTCTimeZone());
}

std::string CutText(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes - kLeftOut.size();
  while (end > 0 && IsInsideCharacter(text[end])) --end;
  return absl::StrCat(text.substr(0, end), kLeftOut);
}

}  // namespace lockstep
