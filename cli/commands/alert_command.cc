#include "cli/commands/alert_command.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/render/json.h"
#include "cli/render/text_table.h"
#include "collector/alert/alert_endpoint.h"
#include "collector/alert/alert_links.h"
#include "collector/alert/alert_message.h"
#include "collector/alert/alert_protocol.h"
#include "collector/alert/alert_routes.h"
#include "collector/alert/alert_routes_yaml.h"
#include "collector/alert/endpoint_for.h"
#include "collector/alert/incident_text.h"
#include "collector/alert/receiver_spec.h"
#include "collector/incident/incident_book.h"
#include "nlohmann/json.hpp"
#include "proto/incident.pb.h"

namespace lockstep {
namespace {

using Kind = IncidentEvent::Kind;
using Outcome = AnswerVerdict::Outcome;

constexpr int64_t kTimeoutNanos = 10 * kNanosPerSecond;
constexpr double kPercent = 100;
constexpr char kTestClass[] = "test";
// One class of each severity, for who asks by severity.
constexpr char kSomeCriticalClass[] = "process_dead";
constexpr char kSomeWarningClass[] = "compute_slow";

// Says in each of its texts that it is none. Its number is that of no incident.
wire::Incident TestIncident(const Clock& clock) {
  wire::Incident incident;
  incident.set_job("lockstep-alert-test");
  incident.set_state(wire::Incident::STATE_OPEN);
  incident.set_opened_wall_ns(clock.WallNanos());
  incident.set_updated_wall_ns(clock.WallNanos());
  wire::Verdict& verdict = *incident.mutable_verdict();
  verdict.set_scope("unknown");
  verdict.set_class_(kTestClass);
  verdict.set_advice("none");
  verdict.add_evidence()->set_text("This is a test of the alerts of Lockstep. Nothing is wrong.");
  wire::Culprit& culprit = *verdict.add_culprits();
  culprit.set_host("no-host");
  culprit.set_rank(-1);
  culprit.set_gpu(-1);
  return incident;
}

struct Row {
  std::string receiver;  // name of the courier
  const char* type;
  AnswerVerdict answer;  // to what was refused first, or else to the last
};

// Opens the incident and ends it, so that nothing is left open.
AnswerVerdict TryOut(const ReceiverSpec& receiver, const std::string& url, const AlertLinks& links,
                     const Clock& clock) {
  const std::unique_ptr<AlertEndpoint> endpoint = EndpointFor(receiver, url, kTimeoutNanos, [] { return false; });
  DeliveryContext context = {.wall_ns = clock.WallNanos(), .links = links};
  wire::Incident incident = TestIncident(clock);
  // What accuses no machine is never sent there.
  if (receiver.type == ReceiverType::kNvsentinel) incident.mutable_verdict()->set_scope("machine");
  AnswerVerdict answer = endpoint->Send({Kind::kOpened, incident}, context).verdict;
  if (answer.outcome != Outcome::kTaken) return answer;
  context.thread = answer.thread;
  incident.set_state(wire::Incident::STATE_RESOLVED);
  incident.set_resolution(wire::Incident::RESOLUTION_BY_HAND);
  incident.set_resolved_wall_ns(clock.WallNanos());
  incident.add_transitions()->set_why("the test is over");
  return endpoint->Send({Kind::kResolved, incident}, context).verdict;
}

class AlertCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"ACTION",
             "test: send each receiver a marked incident and its end; route: say who would be told, and what the hook "
             "would do",
             &action_,
             /*required=*/true},
            {"--config", "the file of receivers and routes", &config_},
            {"--access-rules", "the rules of access, if routes name tenants", &access_rules_},
            {"--receiver", "test: this one alone; it may be given more than once", &receivers_},
            {"--job", "route: job of the incident", &job_},
            {"--class", "route: its class", &class_},
            {"--severity", "route: critical or warning, in place of a class", &severity_},
            {"--scope", "route: its scope", &scope_},
            {"--host", "route: the host that it accuses", &host_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (action_ == "test") return Test(context);
    if (action_ == "route") return Route(context);
    return absl::InvalidArgumentError(absl::StrCat("'", action_, "' is neither test nor route"));
  }

 private:
  absl::StatusOr<ExitCode> Test(CommandContext& context) const {
    ASSIGN_OR_RETURN(const AlertRoutes routes, LoadAlertRoutes(config_, access_rules_));
    for (const std::string& name : receivers_) {
      const bool known = std::any_of(routes.receivers.begin(), routes.receivers.end(),
                                     [&name](const ReceiverSpec& receiver) { return receiver.name == name; });
      if (!known) return absl::NotFoundError(absl::StrCat("receiver '", name, "' is not in ", config_));
    }
    std::vector<Row> rows;
    for (const ReceiverSpec& receiver : routes.receivers) {
      const bool wanted =
          receivers_.empty() || std::find(receivers_.begin(), receivers_.end(), receiver.name) != receivers_.end();
      if (!wanted) continue;
      for (const std::string& url : receiver.urls) {
        rows.push_back({CourierName(receiver, url), ProtocolOf(receiver.type).name,
                        TryOut(receiver, url, routes.links, context.clock)});
      }
    }
    PrintAnswers(context, rows);
    const bool all =
        std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.answer.outcome == Outcome::kTaken; });
    return all ? ExitCode::kOk : ExitCode::kFindings;
  }

  static void PrintAnswers(CommandContext& context, const std::vector<Row>& rows) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    TextTable table({{"RECEIVER"}, {"TYPE"}, {"TOOK IT"}, {"WHY NOT"}});
    for (const Row& row : rows) {
      const bool taken = row.answer.outcome == Outcome::kTaken;
      json.push_back({{"receiver", row.receiver}, {"type", row.type}, {"taken", taken}, {"error", row.answer.why}});
      table.AddRow({row.receiver, row.type, taken ? "yes" : "no", row.answer.why});
    }
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(json, /*indented=*/true) << "\n";
    } else {
      context.out << table.Render(context.width);
    }
  }

  absl::StatusOr<wire::Incident> Asked() const {
    if (!severity_.empty() && severity_ != kCritical && severity_ != kWarning) {
      return absl::InvalidArgumentError(absl::StrCat("--severity: '", severity_, "' is neither critical nor warning"));
    }
    const std::string by_severity = severity_ == kCritical ? kSomeCriticalClass : kSomeWarningClass;
    const std::string verdict_class = class_.empty() ? by_severity : class_;
    if (!severity_.empty() && SeverityOf(verdict_class) != severity_) {
      return absl::InvalidArgumentError(absl::StrCat("an incident of class ", class_, " is never ", severity_));
    }
    wire::Incident incident;
    incident.set_job(job_);
    incident.mutable_verdict()->set_class_(verdict_class);
    incident.mutable_verdict()->set_scope(scope_);
    if (!host_.empty()) incident.mutable_verdict()->add_culprits()->set_host(host_);
    return incident;
  }

  // What the hook would do with it, as far as its limits allow then; "" = there is no hook.
  static std::string HookText(const HookSpec& hook, const AlertRoute* match) {
    if (hook.command.empty()) return "";
    if (match == nullptr) return absl::StrCat("hook: no match fits, ", hook.command, " would not be run\n");
    const std::string fits = absl::StrCat("hook: the match of line ", match->line, " fits, ", hook.command);
    if (!hook.run) return absl::StrCat(fits, " would not be run, the log would say so (run: false)\n");
    return absl::StrCat(fits, " would be run: at most ", hook.max_per_hour, " times an hour, and on at most ",
                        hook.max_share * kPercent, "% of the known hosts a day\n");
  }

  static nlohmann::ordered_json HookJson(const HookSpec& hook, const AlertRoute* match) {
    if (hook.command.empty()) return nullptr;
    return {{"command", hook.command},
            {"line", match == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(match->line)},
            {"outcome", match == nullptr ? "none"
                        : hook.run       ? "run"
                                         : "dry_run"},
            {"max_per_hour", hook.max_per_hour},
            {"max_share", hook.max_share}};
  }

  absl::StatusOr<ExitCode> Route(CommandContext& context) const {
    ASSIGN_OR_RETURN(const AlertRoutes routes, LoadAlertRoutes(config_, access_rules_, /*with_secrets=*/false));
    ASSIGN_OR_RETURN(const wire::Incident incident, Asked());
    const std::set<std::string> told = ReceiversFor(routes, incident);
    const std::vector<size_t> fitting = RoutesFor(routes, incident);
    const AlertRoute* const hook_match = HookMatchFor(routes.hook, incident);
    nlohmann::ordered_json json = {{"class", incident.verdict().class_()},
                                   {"severity", SeverityOf(incident.verdict().class_())},
                                   {"receivers", told},
                                   {"routes", nlohmann::ordered_json::array()},
                                   {"hook", HookJson(routes.hook, hook_match)}};
    TextTable table({{"LINE", TextTable::Align::kRight}, {"RECEIVERS"}, {"THEN"}});
    for (const size_t i : fitting) {
      const AlertRoute& route = routes.routes[i];
      json["routes"].push_back({{"line", route.line}, {"receivers", route.receivers}, {"continue", route.goes_on}});
      table.AddRow({absl::StrCat(route.line), route.receivers.empty() ? "nobody" : absl::StrJoin(route.receivers, ", "),
                    route.goes_on ? "goes on" : "ends"});
    }
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(json, /*indented=*/true) << "\n";
      return ExitCode::kOk;
    }
    context.out << (fitting.empty() ? "no route fits: nobody would be told\n" : table.Render(context.width))
                << HookText(routes.hook, hook_match);
    return ExitCode::kOk;
  }

  std::string action_;
  std::string config_ = "/etc/lockstep/alerts.yaml";
  std::string access_rules_;
  std::vector<std::string> receivers_;
  std::string job_ = "some-job";
  std::string class_;
  std::string severity_;
  std::string scope_ = "machine";
  std::string host_;
};

}  // namespace

std::unique_ptr<Command> MakeAlertCommand() { return std::make_unique<AlertCommand>(); }

}  // namespace lockstep
