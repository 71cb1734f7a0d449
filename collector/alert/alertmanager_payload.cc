#include "collector/alert/alertmanager_payload.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "collector/alert/answer_verdict.h"
#include "collector/alert/change_role.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// An empty label is none.
Json Labels(const wire::Incident& incident, const AlertLinks& links) {
  const wire::Verdict& verdict = incident.verdict();
  Json labels = {
      {"alertname", "LockstepIncident"}, {"fleet", links.fleet}, {"incident_id", absl::StrCat(incident.id())}};
  const std::pair<const char*, std::string> rest[] = {
      {"job", incident.job()},     {"host", HostOf(incident)},
      {"class", verdict.class_()}, {"severity", SeverityOf(verdict.class_())},
      {"scope", verdict.scope()},
  };
  for (const auto& [name, value] : rest) {
    if (!value.empty()) labels[name] = value;
  }
  return labels;
}

Json Annotations(const wire::Incident& incident, const AlertLinks& links) {
  const wire::Verdict& verdict = incident.verdict();
  Json annotations = Json::object();
  const std::pair<const char*, std::string> rows[] = {
      {"summary", SummaryOf(incident)},
      {"description", EvidenceText(verdict)},
      {"gpu", GpuOf(incident)},
      {"cost", CostText(verdict.cost())},
      {"advice", verdict.advice()},
      {"flapping", incident.flapping() ? "true" : ""},
      {"reopened", incident.reopened() > 0 ? absl::StrCat(incident.reopened()) : ""},
      {"folded_incidents", incident.folds() > 0 ? absl::StrCat(incident.folds()) : ""},
      {"runbook_url", RunbookPage(links, verdict.class_())},
      {"stacks_url", StacksPage(links, incident)},
      {"acknowledged_by", incident.acknowledgement().by()},
      {"acknowledgement_note", incident.acknowledgement().note()},
      {"resolution", ResolutionText(incident)},
  };
  for (const auto& [name, value] : rows) {
    if (!value.empty()) annotations[name] = value;
  }
  return annotations;
}

Json Alert(const wire::Incident& incident, const AlertLinks& links, int64_t ends_wall_ns) {
  // Alertmanager refuses what ends before it begins, and a wall clock that was put back would have it so.
  const int64_t begins_wall_ns = std::min(incident.opened_wall_ns(), ends_wall_ns);
  Json alert = {
      {"labels", Labels(incident, links)},
      {"annotations", Annotations(incident, links)},
      {"startsAt", FormatWallTime(begins_wall_ns)},
      {"endsAt", FormatWallTime(ends_wall_ns)},
  };
  const std::string page = ConsolePage(links, incident);
  if (!page.empty()) alert["generatorURL"] = page;
  return alert;
}

}  // namespace

AlertMessage AlertmanagerMessage(const IncidentEvent& event, const ReceiverSpec& receiver,
                                 const DeliveryContext& context) {
  const bool over = ChangeRoleOf(event.kind) == ChangeRole::kEnds;
  const int64_t ends_ns = over ? context.wall_ns : context.wall_ns + kRepeatsUntilEnd * receiver.repeat_ns;
  Json alerts = Json::array();
  const wire::Incident* before = context.before;
  if (before != nullptr && Labels(*before, context.links) != Labels(event.incident, context.links)) {
    alerts.push_back(Alert(*before, context.links, context.wall_ns));
  }
  alerts.push_back(Alert(event.incident, context.links, ends_ns));
  return {.body = alerts.dump(-1, ' ', false, Json::error_handler_t::replace), .headers = {}};
}

AnswerVerdict JudgeAlertmanager(const ReceiverSpec&, const HttpAnswer& answer) {
  const AnswerVerdict verdict = VerdictOfStatus(answer);
  if (verdict.outcome != AnswerVerdict::Outcome::kTaken) return verdict;
  const bool is_its_own = absl::StripAsciiWhitespace(answer.body).empty() || Json::accept(answer.body);
  return is_its_own ? verdict : NotItsAnswer(answer);
}

}  // namespace lockstep
