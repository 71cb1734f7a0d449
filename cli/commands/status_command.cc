#include "cli/commands/status_command.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/left_out_note.h"
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
    PrintLeftOutNote(status.left_out(), "agents", context.err);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(status), /*indented=*/true) << "\n";
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
                << "open incidents  " << status.open_incidents() << "\n";
    if (status.agents_size() > 0) context.out << "\n" << AgentTable(status).Render(context.width);
    if (status.failing_sources_size() > 0) {
      context.out << "\nAgents get nothing from:\n" << SourceTable(status).Render(context.width);
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
