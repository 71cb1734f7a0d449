#include "collector/alert/slack_payload.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "collector/alert/answer_verdict.h"
#include "collector/alert/change_role.h"
#include "collector/alert/incident_text.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// Slack folds or cuts what is longer.
constexpr size_t kMaxTextBytes = 3'000;

constexpr char kRed[] = "#c62828";
constexpr char kYellow[] = "#f9a825";
constexpr char kGreen[] = "#2e7d32";
constexpr char kBlue[] = "#1565c0";

// Errors of the API that may be gone next time, as the documentation of chat.postMessage lists them: some pass, the
// others are for somebody to mend. The rest is about the message or its thread.
constexpr absl::string_view kPassingErrors[] = {
    "ratelimited",
    "rate_limited",
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
    "accesslimited",
    "access_denied",
    "account_inactive",
    "channel_not_found",
    "ekm_access_denied",
    "enterprise_is_restricted",
    "invalid_auth",
    "is_archived",
    "missing_scope",
    "no_permission",
    "not_allowed_token_type",
    "not_authed",
    "not_in_channel",
    "org_login_required",
    "restricted_action",
    "restricted_action_read_only_channel",
    "team_access_not_granted",
    "team_added_to_org",
    "token_expired",
    "token_revoked",
    "two_factor_setup_required",
};

// What Slack's markup gives a meaning to.
std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

std::string WhatHappened(const IncidentEvent& event) {
  const wire::Incident& incident = event.incident;
  if (ChangeRoleOf(event.kind) != ChangeRole::kTaken) return RowOf(event.kind).word;
  if (!incident.has_acknowledgement()) return "in nobody's hands";
  return absl::StrCat("acknowledged by ", incident.acknowledgement().by());
}

const char* ColourOf(const IncidentEvent& event) {
  const ChangeRole role = ChangeRoleOf(event.kind);
  if (role == ChangeRole::kEnds) return kGreen;
  if (role == ChangeRole::kTaken) return kBlue;
  return SeverityOf(event.incident.verdict().class_()) == absl::string_view(kCritical) ? kRed : kYellow;
}

std::string Headline(const IncidentEvent& event, const AlertLinks& links) {
  const std::string page = ConsolePage(links, event.incident);
  const std::string number = absl::StrCat("Incident ", event.incident.id());
  const std::string name = page.empty() ? number : absl::StrCat("<", page, "|", number, ">");
  return absl::StrCat(name, " ", Escaped(WhatHappened(event)), ": ", Escaped(SummaryOf(event.incident)));
}

std::string Body(const IncidentEvent& event, const AlertLinks& links) {
  const wire::Incident& incident = event.incident;
  const wire::Verdict& verdict = incident.verdict();
  if (ChangeRoleOf(event.kind) == ChangeRole::kTaken) return Escaped(incident.acknowledgement().note());
  if (ChangeRoleOf(event.kind) == ChangeRole::kEnds) return Escaped(ResolutionText(incident));
  std::vector<std::string> lines = {Escaped(EvidenceText(verdict)), Escaped(CostText(verdict.cost())),
                                    RecurrenceText(incident)};
  if (!verdict.advice().empty()) lines.push_back(absl::StrCat("Advice: ", Escaped(verdict.advice())));
  const std::string runbook = RunbookPage(links, verdict.class_());
  if (!runbook.empty()) lines.push_back(absl::StrCat("<", runbook, "|Runbook>"));
  const std::string stacks = StacksPage(links, incident);
  if (!stacks.empty()) lines.push_back(absl::StrCat("<", stacks, "|Stacks>"));
  lines.erase(std::remove(lines.begin(), lines.end(), ""), lines.end());
  return absl::StrJoin(lines, "\n");
}

AnswerVerdict JudgeApi(const HttpAnswer& answer) {
  const Json body = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("ok") || !body["ok"].is_boolean()) return NotItsAnswer(answer);
  const auto text = [&body](const char* name) {
    return body.contains(name) && body[name].is_string() ? body[name].get<std::string>() : "";
  };
  if (body["ok"].get<bool>()) return {.outcome = AnswerVerdict::Outcome::kTaken, .why = "", .thread = text("ts")};
  const std::string error = text("error");
  const bool passes =
      std::find(std::begin(kPassingErrors), std::end(kPassingErrors), error) != std::end(kPassingErrors);
  return {.outcome = passes ? AnswerVerdict::Outcome::kLater : AnswerVerdict::Outcome::kRefused,
          .why = absl::StrCat("Slack says ", error.empty() ? "no" : error)};
}

}  // namespace

AlertMessage SlackMessage(const IncidentEvent& event, const ReceiverSpec& receiver, const DeliveryContext& context) {
  const wire::Incident& incident = event.incident;
  const std::string headline = CutText(Headline(event, context.links), kMaxTextBytes);
  const std::string severity = SeverityOf(incident.verdict().class_());
  Json message = {
      {"text", headline},
      {"attachments",
       Json::array({{
           {"color", ColourOf(event)},
           {"text", CutText(Body(event, context.links), kMaxTextBytes)},
           {"footer", absl::StrCat(context.links.fleet, ", ", severity, ", ", incident.verdict().scope())},
       }})},
  };
  if (receiver.token.empty()) return {.body = message.dump(-1, ' ', false, Json::error_handler_t::replace)};
  message["channel"] = receiver.channel;
  if (!context.thread.empty()) {
    message["thread_ts"] = context.thread;
    // Who has left the thread hears that it is not over.
    if (ChangeRoleOf(event.kind) == ChangeRole::kBegins) message["reply_broadcast"] = true;
  }
  return {.body = message.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

AnswerVerdict JudgeSlack(const ReceiverSpec& receiver, const HttpAnswer& answer) {
  const AnswerVerdict verdict = VerdictOfStatus(answer);
  if (verdict.outcome != AnswerVerdict::Outcome::kTaken) return verdict;
  if (!receiver.token.empty()) return JudgeApi(answer);
  return absl::StripAsciiWhitespace(answer.body) == "ok" ? verdict : NotItsAnswer(answer);
}

}  // namespace lockstep
