#include "cli/commands/hosts_command.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/render/json.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

std::string LastText(int64_t wall_ns, int64_t now_ns) {
  const std::string age = AgeText(wall_ns, now_ns);
  return wall_ns == 0 ? "never" : absl::StrCat(age, " ago");
}

class HostsCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"ACTION", "list (the default) or forget", &action_},
            {"HOST", "with forget: the hosts that will not come back", &hosts_},
            {"--missing", "only those that should report and do not", &missing_only_},
            {"--fail-on-missing", "exit with 1 if there are such", &fail_on_missing_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (action_ == "forget") return Forget(context);
    if (action_ != "list") return absl::InvalidArgumentError(absl::StrCat("hosts ", action_, ": list or forget?"));
    if (!hosts_.empty()) return absl::InvalidArgumentError("hosts list takes no HOST");
    ASSIGN_OR_RETURN(const wire::GetStatusResponse status, context.collector.GetStatus());
    const ExitCode code = fail_on_missing_ && status.missing_hosts_size() > 0 ? ExitCode::kFindings : ExitCode::kOk;
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(status), /*indented=*/true) << "\n";
      return code;
    }
    const TextTable table = Table(status);
    context.out << (table.empty() ? "no hosts\n" : table.Render(context.width));
    if (status.missing_hosts_left_out() > 0) {
      context.out << "and " << status.missing_hosts_left_out() << " more that are missing\n";
    }
    return code;
  }

 private:
  absl::StatusOr<ExitCode> Forget(CommandContext& context) {
    if (hosts_.empty()) return absl::InvalidArgumentError("hosts forget needs the name of a host");
    for (const std::string& host : hosts_) {
      RETURN_IF_ERROR(context.collector.ForgetHost(host));
      context.out << Printable(host) << " is not expected any more\n";
    }
    return ExitCode::kOk;
  }

  TextTable Table(const wire::GetStatusResponse& status) const {
    const int64_t now_ns = status.time_line_wall_ns();
    std::map<std::string, std::vector<std::string>> rows;  // by host
    std::set<std::string> missing;
    for (const wire::MissingHost& host : status.missing_hosts()) {
      missing.insert(host.host());
      rows[host.host()] = {host.host(), "missing", LastText(host.last_report_wall_ns(), now_ns),
                           host.in_inventory() ? "the inventory" : "its reports"};
    }
    for (const wire::AgentStatus& agent : status.agents()) {
      if (missing_only_ || missing.contains(agent.host())) continue;
      rows[agent.host()] = {agent.host(), agent.connected() ? "reports" : "not connected",
                            LastText(agent.last_report_wall_ns(), now_ns), "its reports"};
    }
    TextTable table({{"HOST"}, {"STATE"}, {"LAST REPORT", TextTable::Align::kRight}, {"KNOWN FROM"}});
    for (const auto& [host, row] : rows) table.AddRow(row);
    return table;
  }

  std::string action_ = "list";
  std::vector<std::string> hosts_;
  bool missing_only_ = false;
  bool fail_on_missing_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeHostsCommand() { return std::make_unique<HostsCommand>(); }

}  // namespace lockstep
