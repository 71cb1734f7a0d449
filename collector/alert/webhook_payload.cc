#include "collector/alert/webhook_payload.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/fnv1a.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNotEnded[] = "0001-01-01T00:00:00Z";  // what Alertmanager sends while an alert is firing
constexpr char kAlertName[] = "LockstepIncident";

// Everything else is a warning: the job goes on.
constexpr absl::string_view kCriticalClasses[] = {
    "hang_not_entered", "hang_in_communication", "collective_mismatch", "deadlock",
    "process_dead",     "machine_unreachable",   "gpu_fault",
};

std::string FormatWallTime(int64_t wall_ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(wall_ns), absl::UTCTimeZone());
}

// Over names and values, separated by a byte that is in no UTF-8 text.
std::string Fingerprint(const Json& labels) {
  uint64_t hash = kFnv1aOfNothing;
  for (const auto& [name, value] : labels.items()) {
    hash = Fnv1a(Fnv1a(Fnv1a(Fnv1a(hash, name), "\xff"), value.get<std::string>()), "\xff");
  }
  return absl::StrFormat("%016x", hash);
}

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

std::string EvidenceChain(const wire::Verdict& verdict) {
  std::string chain;
  for (const wire::Evidence& evidence : verdict.evidence()) {
    absl::StrAppend(&chain, chain.empty() ? "" : "\n", evidence.text());
  }
  return chain;
}

std::string CostText(const wire::Cost& cost) {
  if (cost.seconds_per_step() <= 0 && cost.slowdown_fraction() <= 0) return "";
  return absl::StrFormat("%.1f %% of the step time, %.4g s per step, in %.0f %% of the steps",
                         100 * cost.slowdown_fraction(), cost.seconds_per_step(), 100 * cost.steps_affected_fraction());
}

// The labels that never change while an incident lives.
Json IdentityLabels(const wire::Incident& incident) {
  return {{"alertname", kAlertName}, {"incident_id", absl::StrCat(incident.id())}, {"job", incident.job()}};
}

Json Labels(const wire::Incident& incident) {
  Json labels = IdentityLabels(incident);
  labels["severity"] = SeverityOf(incident.verdict().class_());
  labels["class"] = incident.verdict().class_();
  labels["scope"] = incident.verdict().scope();
  return labels;
}

Json Annotations(const wire::Incident& incident) {
  const wire::Verdict& verdict = incident.verdict();
  Json annotations = {{"summary", SummaryOf(incident)}, {"description", EvidenceChain(verdict)}};
  const std::string cost = CostText(verdict.cost());
  if (!cost.empty()) annotations["cost"] = cost;
  annotations["advice"] = verdict.advice();
  if (incident.has_acknowledgement()) {
    const wire::Incident::Acknowledgement& acknowledgement = incident.acknowledgement();
    annotations["acknowledged_by"] = acknowledgement.by();
    if (!acknowledgement.note().empty()) annotations["acknowledgement_note"] = acknowledgement.note();
  }
  // Alertmanager knows one kind of end; this tells one that was seen to be over from one whose job is.
  const bool resolved = incident.state() == wire::Incident::STATE_RESOLVED && !incident.transitions().empty();
  if (resolved) annotations["resolution"] = incident.transitions().rbegin()->why();
  return annotations;
}

}  // namespace

const char* SeverityOf(absl::string_view verdict_class) {
  for (const absl::string_view critical : kCriticalClasses) {
    if (critical == verdict_class) return "critical";
  }
  return "warning";
}

std::string SummaryOf(const wire::Incident& incident) {
  const wire::Verdict& verdict = incident.verdict();
  std::string summary = verdict.class_();
  if (!verdict.culprits().empty()) absl::StrAppend(&summary, " on ", Who(verdict.culprits(0)));
  if (verdict.culprits_size() > 1) absl::StrAppend(&summary, " and ", verdict.culprits_size() - 1, " more");
  return absl::StrCat(summary, " in job ", incident.job());
}

std::string WebhookPayload(const IncidentEvent& event, const WebhookPayloadOptions& options) {
  const wire::Incident& incident = event.incident;
  const bool resolved = event.kind == IncidentEvent::Kind::kResolved;
  const char* status = resolved ? "resolved" : "firing";
  const Json identity = IdentityLabels(incident);
  const Json labels = Labels(incident);
  const Json annotations = Annotations(incident);
  const Json alert = {
      {"status", status},
      {"labels", labels},
      {"annotations", annotations},
      {"startsAt", FormatWallTime(incident.opened_wall_ns())},
      {"endsAt", resolved ? FormatWallTime(incident.resolved_wall_ns()) : kNotEnded},
      {"generatorURL", options.external_url},
      {"fingerprint", Fingerprint(identity)},
  };
  const Json payload = {
      {"version", "4"},
      {"groupKey", absl::StrCat("{}:{alertname=\"", kAlertName, "\", incident_id=\"", incident.id(), "\"}")},
      {"truncatedAlerts", 0},
      {"status", status},
      {"receiver", options.receiver},
      {"groupLabels", identity},
      {"commonLabels", labels},
      {"commonAnnotations", annotations},
      {"externalURL", options.external_url},
      {"alerts", Json::array({alert})},
  };
  return payload.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockstep
