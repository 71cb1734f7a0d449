#include "collector/alert/pagerduty_payload.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "collector/alert/answer_verdict.h"
#include "collector/alert/change_role.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// PagerDuty's limits; those of single details are ours, far below that of a whole event (512 KiB).
constexpr size_t kMaxDedupKeyBytes = 255;
constexpr size_t kMaxSummaryBytes = 1'024;
constexpr size_t kMaxDetailBytes = 8'192;
constexpr int kAccepted = 202;

// An acknowledgement that was taken back triggers again, which is all that PagerDuty knows for it.
const char* ActionFor(const IncidentEvent& event) {
  const ChangeRole role = ChangeRoleOf(event.kind);
  if (role == ChangeRole::kEnds) return "resolve";
  return role != ChangeRole::kBegins && event.incident.has_acknowledgement() ? "acknowledge" : "trigger";
}

std::string ComponentOf(const wire::Verdict& verdict) {
  if (verdict.culprits().empty()) return "";
  const wire::Culprit& culprit = verdict.culprits(0);
  if (!culprit.device().empty()) return culprit.device();
  return culprit.rank() >= 0 ? absl::StrCat("rank ", culprit.rank()) : "";
}

Json Details(const wire::Incident& incident) {
  const wire::Verdict& verdict = incident.verdict();
  Json details = Json::object();
  const std::pair<const char*, std::string> rows[] = {
      {"incident", absl::StrCat(incident.id())},
      {"job", incident.job()},
      {"scope", verdict.scope()},
      {"gpu", GpuOf(incident)},
      {"evidence", EvidenceText(verdict)},
      {"cost", CostText(verdict.cost())},
      {"advice", verdict.advice()},
      {"flapping", incident.flapping() ? "true" : ""},
      {"reopened", incident.reopened() > 0 ? absl::StrCat(incident.reopened()) : ""},
      {"folded_incidents", incident.folds() > 0 ? absl::StrCat(incident.folds()) : ""},
  };
  for (const auto& [name, value] : rows) {
    if (!value.empty()) details[name] = CutText(value, kMaxDetailBytes);
  }
  return details;
}

Json Payload(const wire::Incident& incident) {
  const wire::Verdict& verdict = incident.verdict();
  const std::string host = HostOf(incident);
  Json payload = {
      {"summary", CutText(SummaryOf(incident), kMaxSummaryBytes)},
      {"source", host.empty() ? incident.job() : host},
      {"severity", SeverityOf(verdict.class_())},
      {"timestamp", FormatWallTime(incident.opened_wall_ns())},
  };
  const std::string component = ComponentOf(verdict);
  if (!component.empty()) payload["component"] = component;
  payload["group"] = incident.job();
  payload["class"] = verdict.class_();
  payload["custom_details"] = Details(incident);
  return payload;
}

}  // namespace

AlertMessage PagerdutyMessage(const IncidentEvent& event, const ReceiverSpec& receiver,
                              const DeliveryContext& context) {
  const wire::Incident& incident = event.incident;
  Json message = {
      {"routing_key", receiver.key},
      {"event_action", ActionFor(event)},
      {"dedup_key", CutText(StableName(context.links, incident), kMaxDedupKeyBytes)},
      {"client", absl::StrCat("Lockstep ", context.links.fleet)},
  };
  const std::string page = ConsolePage(context.links, incident);
  if (!page.empty()) message["client_url"] = page;
  const std::string runbook = RunbookPage(context.links, incident.verdict().class_());
  const std::pair<const char*, std::string> links[] = {{"runbook", runbook},
                                                       {"stacks", StacksPage(context.links, incident)}};
  for (const auto& [text, href] : links) {
    if (!href.empty()) message["links"].push_back(Json{{"href", href}, {"text", text}});
  }
  message["payload"] = Payload(incident);
  return {.body = message.dump(-1, ' ', false, Json::error_handler_t::replace), .headers = {}};
}

AnswerVerdict JudgePagerduty(const ReceiverSpec&, const HttpAnswer& answer) {
  const AnswerVerdict verdict = VerdictOfStatus(answer);
  if (verdict.outcome != AnswerVerdict::Outcome::kTaken) return verdict;
  const Json body = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  const bool taken =
      answer.status == kAccepted && body.is_object() && body.contains("status") && body["status"] == "success";
  return taken ? verdict : NotItsAnswer(answer);
}

}  // namespace lockstep
