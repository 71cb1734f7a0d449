#include "cli/commands/status_command.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/left_out_note.h"
#include "cli/render/fleet_overview.h"
#include "cli/render/json.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

class StatusCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override { return {}; }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    ASSIGN_OR_RETURN(const wire::GetStatusResponse status, context.collector.GetStatus());
    ASSIGN_OR_RETURN(const wire::ListJobsResponse jobs, context.collector.ListJobs());
    const std::vector<JobGap> gaps = JobGaps(jobs);
    PrintLeftOutNote(status.left_out(), "agents", context.err);
    if (context.format == OutputFormat::kJson) {
      nlohmann::ordered_json json = ToJson(status);
      json["job_gaps"] = GapsJson(gaps);
      context.out << JsonText(json, /*indented=*/true) << "\n";
      return ExitCode::kOk;
    }
    int connected = 0;
    for (const wire::AgentStatus& agent : status.agents()) connected += agent.connected() ? 1 : 0;
    context.out << "collector       " << Printable(status.version()) << ", up "
                << AgeText(status.started_wall_ns(), status.time_line_wall_ns()) << "\n"
                << "agents          " << connected << " connected of " << status.agents_size() + status.left_out()
                << "\n"
                << "hosts missing   " << status.missing_hosts_size() + status.missing_hosts_left_out() << "\n"
                << "reports stored  " << status.reports_stored() << "\n"
                << "open incidents  " << status.open_incidents() << "\n"
                << "jobs            " << jobs.jobs_size() - gaps.size() << " seen whole of "
                << jobs.jobs_size() + jobs.left_out() << "\n";
    if (status.agents_size() > 0) context.out << "\n" << AgentTable(status).Render(context.width, context.colour);
    if (status.missing_hosts_size() > 0) {
      context.out << "\nNot recorded, because their agents are silent:\n"
                  << MissingTable(status).Render(context.width, context.colour);
      if (status.missing_hosts_left_out() > 0) context.out << "and " << status.missing_hosts_left_out() << " more\n";
    }
    if (!gaps.empty()) {
      context.out << "\nJobs that are not seen whole:\n" << GapTable(gaps).Render(context.width, context.colour);
    }
    if (status.failing_sources_size() > 0) {
      context.out << "\nAgents get nothing from:\n" << SourceTable(status).Render(context.width, context.colour);
      if (status.failing_sources_left_out() > 0) {
        context.out << "and " << status.failing_sources_left_out() << " more\n";
      }
    }
    return ExitCode::kOk;
  }

 private:
  static TextTable AgentTable(const wire::GetStatusResponse& status) {
    TextTable table({{"HOST"},
                     {"CONNECTED"},
                     {"LAST REPORT", TextTable::Align::kRight},
                     {"SEQUENCE", TextTable::Align::kRight},
                     {"VERSION"}});
    for (const wire::AgentStatus& agent : status.agents()) {
      const std::string age = AgeText(agent.last_report_wall_ns(), status.time_line_wall_ns());
      table.AddRow({agent.host(), agent.connected() ? "yes" : "no", age == "-" ? age : absl::StrCat(age, " ago"),
                    absl::StrCat(agent.last_sequence()), agent.version()});
    }
    return table;
  }

  static TextTable MissingTable(const wire::GetStatusResponse& status) {
    TextTable table({{"HOST"}, {"LAST REPORT", TextTable::Align::kRight}, {"KNOWN FROM"}});
    for (const wire::MissingHost& host : status.missing_hosts()) {
      const std::string age = AgeText(host.last_report_wall_ns(), status.time_line_wall_ns());
      table.AddRow({host.host(), host.last_report_wall_ns() == 0 ? "never" : absl::StrCat(age, " ago"),
                    host.in_inventory() ? "the inventory" : "its reports"});
    }
    return table;
  }

  static TextTable GapTable(const std::vector<JobGap>& gaps) {
    TextTable table({{"JOB"}, {"RANKS", TextTable::Align::kRight}, {"WHY"}});
    for (const JobGap& gap : gaps) {
      const std::string expected = gap.expected > 0 ? absl::StrCat(gap.expected) : "?";
      table.AddRow({gap.job, absl::StrCat(gap.seen, " of ", expected), gap.why});
    }
    return table;
  }

  static nlohmann::ordered_json GapsJson(const std::vector<JobGap>& gaps) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const JobGap& gap : gaps) {
      json.push_back({{"job", gap.job}, {"ranks", gap.seen}, {"world_size", gap.expected}, {"why", gap.why}});
    }
    return json;
  }

  static TextTable SourceTable(const wire::GetStatusResponse& status) {
    TextTable table({{"HOST"}, {"SOURCE"}, {"FOR", TextTable::Align::kRight}, {"STATE"}, {"WHY"}});
    for (const wire::FailingSource& source : status.failing_sources()) {
      table.AddRow({source.host(), source.source(), AgeText(source.since_wall_ns(), status.time_line_wall_ns()),
                    source.hangs() ? "hangs" : "fails", source.why()});
    }
    return table;
  }
};

}  // namespace

std::unique_ptr<Command> MakeStatusCommand() { return std::make_unique<StatusCommand>(); }

}  // namespace lockstep
