#include "collector/alert/webhook_payload.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/fnv1a.h"
#include "collector/alert/answer_verdict.h"
#include "collector/alert/change_role.h"
#include "collector/alert/hmac_signature.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNotEnded[] = "0001-01-01T00:00:00Z";  // what Alertmanager sends while an alert is firing
constexpr char kAlertName[] = "LockstepIncident";

// Over names and values, separated by a byte that is in no UTF-8 text.
std::string Fingerprint(const Json& labels) {
  uint64_t hash = kFnv1aOfNothing;
  for (const auto& [name, value] : labels.items()) {
    hash = Fnv1a(Fnv1a(Fnv1a(Fnv1a(hash, name), "\xff"), value.get<std::string>()), "\xff");
  }
  return absl::StrFormat("%016x", hash);
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

Json Annotations(const wire::Incident& incident, const AlertLinks& links) {
  const wire::Verdict& verdict = incident.verdict();
  Json annotations = {{"summary", SummaryOf(incident)}, {"description", EvidenceText(verdict)}};
  const std::string gpu = GpuOf(incident);
  if (!gpu.empty()) annotations["gpu"] = gpu;
  const std::string cost = CostText(verdict.cost());
  if (!cost.empty()) annotations["cost"] = cost;
  annotations["advice"] = verdict.advice();
  const std::string runbook = RunbookPage(links, verdict.class_());
  if (!runbook.empty()) annotations["runbook_url"] = runbook;
  const std::string stacks = StacksPage(links, incident);
  if (!stacks.empty()) annotations["stacks_url"] = stacks;
  if (incident.has_acknowledgement()) {
    const wire::Incident::Acknowledgement& acknowledgement = incident.acknowledgement();
    annotations["acknowledged_by"] = acknowledgement.by();
    if (!acknowledgement.note().empty()) annotations["acknowledgement_note"] = acknowledgement.note();
  }
  if (incident.folds() > 0) annotations["folded_incidents"] = absl::StrCat(incident.folds());
  if (incident.flapping()) annotations["flapping"] = "true";
  if (incident.reopened() > 0) annotations["reopened"] = absl::StrCat(incident.reopened());
  // Alertmanager knows one kind of end; this tells one that was seen to be over from one whose job is.
  const std::string resolution = ResolutionText(incident);
  if (!resolution.empty()) annotations["resolution"] = resolution;
  return annotations;
}

// Begins and ends take turns, and are told apart by how often the incident came back. Others are many.
std::string DeliveryName(const IncidentEvent& event, const AlertLinks& links) {
  const wire::Incident& incident = event.incident;
  const ChangeRow& row = RowOf(event.kind);
  const bool is_turn = row.role == ChangeRole::kBegins || row.role == ChangeRole::kEnds;
  return absl::StrCat(StableName(links, incident), "/", row.word, "/",
                      is_turn ? static_cast<int64_t>(incident.reopened()) : incident.updated_wall_ns());
}

}  // namespace

AlertMessage WebhookMessage(const IncidentEvent& event, const ReceiverSpec& receiver, const DeliveryContext& context) {
  const wire::Incident& incident = event.incident;
  const bool resolved = ChangeRoleOf(event.kind) == ChangeRole::kEnds;
  const char* status = resolved ? "resolved" : "firing";
  const std::string page = ConsolePage(context.links, incident);
  const Json identity = IdentityLabels(incident);
  const Json labels = Labels(incident);
  const Json annotations = Annotations(incident, context.links);
  const Json alert = {
      {"status", status},
      {"labels", labels},
      {"annotations", annotations},
      {"startsAt", FormatWallTime(incident.opened_wall_ns())},
      {"endsAt", resolved ? FormatWallTime(incident.resolved_wall_ns()) : kNotEnded},
      {"generatorURL", page},
      {"fingerprint", Fingerprint(identity)},
  };
  const Json payload = {
      {"version", "4"},
      {"groupKey", absl::StrCat("{}:{alertname=\"", kAlertName, "\", incident_id=\"", incident.id(), "\"}")},
      {"truncatedAlerts", 0},
      {"status", status},
      {"receiver", receiver.title},
      {"groupLabels", identity},
      {"commonLabels", labels},
      {"commonAnnotations", annotations},
      {"externalURL", page},
      {"alerts", Json::array({alert})},
  };
  AlertMessage message{.body = payload.dump(-1, ' ', false, Json::error_handler_t::replace), .headers = {}};
  message.headers.push_back(absl::StrCat("X-Lockstep-Delivery: ", DeliveryName(event, context.links)));
  if (!receiver.secret.empty()) {
    message.headers.push_back(
        absl::StrCat("X-Lockstep-Signature: ", HmacSignature(receiver.secret, context.wall_ns, message.body)));
  }
  return message;
}

AnswerVerdict JudgeWebhook(const ReceiverSpec&, const HttpAnswer& answer) { return VerdictOfStatus(answer); }

}  // namespace lockstep
