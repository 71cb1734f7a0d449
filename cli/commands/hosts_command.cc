#include "cli/commands/hosts_command.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/left_out_note.h"
#include "cli/render/colour.h"
#include "cli/render/gpu_table.h"
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
    return {{"ACTION", "list (the default), gpus or forget", &action_, /*required=*/false, {"list", "gpus", "forget"}},
            {"HOST", "with gpus: whose (all); with forget: the hosts that will not come back", &hosts_},
            {"--missing", "only those that should report and do not", &missing_only_},
            {"--fail-on-missing", "exit with 1 if there are such", &fail_on_missing_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (action_ == "forget") return Forget(context);
    if (action_ == "gpus") return Gpus(context);
    if (action_ != "list")
      return absl::InvalidArgumentError(absl::StrCat("hosts ", action_, ": list, gpus or forget?"));
    if (!hosts_.empty()) return absl::InvalidArgumentError("hosts list takes no HOST");
    ASSIGN_OR_RETURN(const wire::GetStatusResponse status, context.collector.GetStatus());
    const ExitCode code = fail_on_missing_ && status.missing_hosts_size() > 0 ? ExitCode::kFindings : ExitCode::kOk;
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(status), /*indented=*/true) << "\n";
      return code;
    }
    const TextTable table = Table(status);
    context.out << (table.empty() ? "no hosts\n" : table.Render(context.width, context.colour));
    if (status.missing_hosts_left_out() > 0) {
      context.out << "and " << status.missing_hosts_left_out() << " more that are missing\n";
    }
    return code;
  }

 private:
  absl::StatusOr<ExitCode> Forget(CommandContext& context) {
    if (hosts_.empty()) return absl::InvalidArgumentError("hosts forget needs the name of a host");
    const bool as_json = context.format == OutputFormat::kJson;
    nlohmann::ordered_json forgotten = nlohmann::ordered_json::array();
    for (const std::string& host : hosts_) {
      RETURN_IF_ERROR(context.collector.ForgetHost(host));
      forgotten.push_back(host);
      if (!as_json) context.out << Printable(host) << " is not expected any more\n";
    }
    if (as_json) context.out << JsonText({{"forgotten", forgotten}}, /*indented=*/true) << "\n";
    return ExitCode::kOk;
  }

  absl::StatusOr<ExitCode> Gpus(CommandContext& context) {
    wire::ListGpusRequest request;
    for (const std::string& host : hosts_) request.add_hosts(host);
    ASSIGN_OR_RETURN(const wire::ListGpusResponse response, context.collector.ListGpus(request));
    PrintLeftOutNote(response.left_out(), "GPUs", context.err);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(response), /*indented=*/true) << "\n";
      return ExitCode::kOk;
    }
    const TextTable table = GpuTable({response.gpus().begin(), response.gpus().end()});
    context.out << (table.empty() ? "no GPUs\n" : table.Render(context.width, context.colour));
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
    std::vector<TextTable::Column> columns = {{"HOST"},
                                              {"STATE", TextTable::Align::kLeft, StateColour},
                                              {"LAST REPORT", TextTable::Align::kRight},
                                              {"KNOWN FROM"}};
    if (status.host_histories_size() > 0) {
      columns.push_back({"BLAMED", TextTable::Align::kRight});
      columns.push_back({"SCORE", TextTable::Align::kRight});
      AddHistories(status, rows);
    }
    TextTable table(columns);
    for (const auto& [host, row] : rows) table.AddRow(row);
    return table;
  }

  // By host: how often each was blamed.
  static void AddHistories(const wire::GetStatusResponse& status,
                           std::map<std::string, std::vector<std::string>>& rows) {
    std::map<std::string, const wire::HostHistory*> histories;
    for (const wire::HostHistory& history : status.host_histories()) histories[history.host()] = &history;
    for (auto& [host, row] : rows) {
      const auto found = histories.find(host);
      if (found == histories.end()) {
        row.insert(row.end(), {"-", "-"});
        continue;
      }
      const wire::HostHistory& history = *found->second;
      row.push_back(absl::StrCat(history.incidents(), " in ", history.jobs(), history.jobs() == 1 ? " job" : " jobs"));
      row.push_back(absl::StrFormat("%.1f", history.score()));
    }
  }

  std::string action_ = "list";
  std::vector<std::string> hosts_;
  bool missing_only_ = false;
  bool fail_on_missing_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeHostsCommand() { return std::make_unique<HostsCommand>(); }

}  // namespace lockstep
