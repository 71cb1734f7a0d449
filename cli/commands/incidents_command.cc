#include "cli/commands/incidents_command.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/stop_signal.h"
#include "cli/commands/incident_actions.h"
#include "cli/duration_argument.h"
#include "cli/incident_follower.h"
#include "cli/left_out_note.h"
#include "cli/render/colour.h"
#include "cli/render/incident_text.h"
#include "cli/render/json.h"
#include "cli/render/quantity_text.h"
#include "cli/render/stacks_text.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr int64_t kPollNanos = 300 * kNanosPerMilli;
constexpr uint32_t kFollowLimit = 1000;
constexpr uint32_t kMostIncidents = 10'000;  // that a collector remembers

TextTable IncidentTable(const wire::ListIncidentsResponse& response, int64_t now) {
  TextTable table({{"ID", TextTable::Align::kRight},
                   {"STATE", TextTable::Align::kLeft, StateColour},
                   {"JOB"},
                   {"CLASS"},
                   {"CULPRIT"},
                   {"SINCE"},
                   {"COST", TextTable::Align::kRight},
                   {"SUMMARY"}});
  for (const wire::Incident& incident : response.incidents()) {
    const std::string since = absl::StrCat(WallText(incident.opened_wall_ns()).substr(0, 19), " (",
                                           AgeText(incident.opened_wall_ns(), now), ")");
    table.AddRow({absl::StrCat(incident.id()), StateText(incident), incident.job(), incident.verdict().class_(),
                  CulpritsText(incident.verdict()), since, CostText(incident.verdict()),
                  SummaryText(incident.verdict())});
  }
  return table;
}

TextTable SilenceTable(const wire::ListIncidentsResponse& response, int64_t now) {
  TextTable table({{"ID", TextTable::Align::kRight}, {"JOB"}, {"CLASS"}, {"CULPRIT"}, {"UNTIL"}, {"BY"}, {"NOTE"}});
  for (const wire::Incident& incident : response.incidents()) {
    const wire::Incident::Silence& silence = incident.silence();
    table.AddRow({absl::StrCat(incident.id()), incident.job(), incident.verdict().class_(),
                  CulpritsText(incident.verdict()),
                  absl::StrCat(WallText(silence.until_wall_ns()).substr(0, 19), " (in ",
                               DurationText(silence.until_wall_ns() - now), ")"),
                  silence.by(), silence.note()});
  }
  return table;
}

void KeepSilenced(wire::ListIncidentsResponse& response) {
  auto& incidents = *response.mutable_incidents();
  incidents.erase(std::remove_if(incidents.begin(), incidents.end(),
                                 [](const wire::Incident& incident) { return !incident.has_silence(); }),
                  incidents.end());
}

class IncidentsCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"ACTION",
             "list (the default), show, ack, silence, resolve or comment",
             &action_,
             /*required=*/false,
             {"list", "show", "ack", "silence", "resolve", "comment"}},
            {"ID", "the incident, of all actions but list", &id_},
            {"TEXT", "with comment: one line for others to read", &request_.text},
            {"--note", "with ack, silence, resolve: why, one line for others to read", &request_.note},
            {"--undo", "with ack, silence: take it back", &request_.undo},
            {"--open", "only open ones", &open_only_},
            {"--silenced", "only those about which nobody is called until a time", &silenced_only_},
            {"--job", "only of this job", &job_},
            {"--limit", "at most so many, newest first", &limit_},
            {"--fail-on-open", "exit with 1 if one of them is open", &fail_on_open_},
            {"--stacks",
             "with show: of a hang, the stacks that were kept, in this form",
             &stacks_,
             /*required=*/false,
             {std::begin(kStacksForms), std::end(kStacksForms)}},
            {"--follow", "go on and print what happens, one line each", &follow_},
            {"--updates", "with --follow: print updates as well", &updates_},
            {"--for", "with silence: how long; with --follow: end after this time, such as 30s", &lasts_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (action_ == "list") {
      if (!id_.empty()) return absl::InvalidArgumentError("incidents list takes no ID");
      return follow_ ? Follow(context) : List(context);
    }
    const bool acts = IsIncidentAction(action_);
    if (!acts && action_ != "show") {
      return absl::InvalidArgumentError(
          absl::StrCat("incidents ", action_, ": list, show, ack, silence, resolve or comment?"));
    }
    if (!absl::SimpleAtoi(id_, &request_.id)) {
      return absl::InvalidArgumentError(absl::StrCat("incidents ", action_, " needs the number of an incident"));
    }
    if (!acts) return Show(context);
    request_.lasts = lasts_;
    return RunIncidentAction(action_, request_, context);
  }

 private:
  absl::StatusOr<ExitCode> Show(CommandContext& context) {
    ASSIGN_OR_RETURN(const wire::Incident incident, context.collector.GetIncident(request_.id));
    ASSIGN_OR_RETURN(const wire::GetStacksResponse kept, context.collector.GetStacks(request_.id));
    if (!stacks_.empty()) {
      RETURN_IF_ERROR(CheckStacksForm("--stacks", stacks_));
      if (kept.dumps().empty()) return absl::NotFoundError(absl::StrCat("no stacks are kept of incident ", id_));
      context.out << StacksText({kept.dumps().begin(), kept.dumps().end()}, stacks_, absl::StrCat("incident ", id_));
      return ExitCode::kOk;
    }
    if (context.format == OutputFormat::kJson) {
      nlohmann::ordered_json json = ToJson(incident);
      json["stacks"] = nlohmann::ordered_json::array();
      for (const wire::StackDump& dump : kept.dumps()) json["stacks"].push_back(ToJson(dump));
      context.out << JsonText(json, /*indented=*/true) << "\n";
    } else {
      ASSIGN_OR_RETURN(const int64_t now_ns, context.collector.NowWallNanos());
      context.out << Explanation(incident, now_ns);
      for (const wire::StackDump& dump : kept.dumps()) context.out << StackDumpText(dump, /*brief=*/true);
    }
    return ExitCode::kOk;
  }

  absl::StatusOr<ExitCode> List(CommandContext& context) {
    const uint32_t limit = silenced_only_ ? kMostIncidents : limit_;
    ASSIGN_OR_RETURN(wire::ListIncidentsResponse response, context.collector.ListIncidents(Request(limit)));
    if (silenced_only_) KeepSilenced(response);
    PrintLeftOutNote(response.left_out(), "incidents", context.err);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(response), /*indented=*/true) << "\n";
    } else if (response.incidents_size() == 0) {
      context.out << (silenced_only_ ? "no silenced incidents\n"
                      : open_only_   ? "no open incidents\n"
                                     : "no incidents\n");
    } else {
      ASSIGN_OR_RETURN(const int64_t now_ns, context.collector.NowWallNanos());
      const TextTable table = silenced_only_ ? SilenceTable(response, now_ns) : IncidentTable(response, now_ns);
      context.out << table.Render(context.width, context.colour);
    }
    bool any_open = false;
    for (const wire::Incident& incident : response.incidents())
      any_open |= incident.state() == wire::Incident::STATE_OPEN;
    return fail_on_open_ && any_open ? ExitCode::kFindings : ExitCode::kOk;
  }

  // A collector that goes away later is waited for: a feed must survive its restart.
  absl::StatusOr<ExitCode> Follow(CommandContext& context) {
    int64_t end_ns = 0;
    if (!lasts_.empty()) {
      ASSIGN_OR_RETURN(const int64_t nanos, ParseDurationArgument("--for", lasts_));
      end_ns = context.clock.MonotonicNanos() + nanos;
    }
    IncidentFollower follower;
    StopSignal never;
    bool known = false;  // the collector has answered before
    bool away = false;
    while (true) {
      const absl::StatusOr<wire::ListIncidentsResponse> response =
          context.collector.ListIncidents(Request(kFollowLimit));
      if (response.ok()) {
        known = true;
        if (std::exchange(away, false)) context.err << "lockstep: the collector is back" << std::endl;
        PrintNews(follower, *response, context);
        if (!context.out) return absl::FailedPreconditionError("cannot write the output");
      } else if (!known) {
        return response.status();
      } else if (!std::exchange(away, true)) {
        context.err << "lockstep: waiting for the collector: " << response.status().message() << std::endl;
      }
      if (end_ns != 0 && context.clock.MonotonicNanos() >= end_ns) return ExitCode::kOk;
      never.WaitFor(kPollNanos);
    }
  }

  void PrintNews(IncidentFollower& follower, const wire::ListIncidentsResponse& response,
                 CommandContext& context) const {
    const std::vector<wire::Incident> incidents(response.incidents().begin(), response.incidents().end());
    for (const FollowedTransition& news : follower.Update(incidents)) {
      if (news.transition->what() == "updated" && !updates_) continue;
      if (context.format == OutputFormat::kTable) {
        context.out << TransitionLine(*news.incident, *news.transition) << std::endl;
        continue;
      }
      nlohmann::ordered_json line = ToJson(*news.transition);
      line["incident"] = ToJson(*news.incident);
      context.out << JsonText(line, /*indented=*/false) << std::endl;  // a reader of a pipe waits for it
    }
  }

  wire::ListIncidentsRequest Request(uint32_t limit) const {
    wire::ListIncidentsRequest request;
    request.set_open_only(open_only_ && !follow_);
    request.set_job(job_);
    request.set_limit(limit);
    return request;
  }

  std::string action_ = "list";
  std::string id_;
  std::string job_;
  std::string lasts_;
  std::string stacks_;
  IncidentRequest request_;
  uint32_t limit_ = 100;
  bool open_only_ = false;
  bool silenced_only_ = false;
  bool fail_on_open_ = false;
  bool follow_ = false;
  bool updates_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeIncidentsCommand() { return std::make_unique<IncidentsCommand>(); }

}  // namespace lockstep
