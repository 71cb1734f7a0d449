#include "cli/commands/maintenance_command.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/duration_argument.h"
#include "cli/left_out_note.h"
#include "cli/render/json.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr int kMostNamesShown = 3;

// "node-1, node-2, job demo and 4 more".
std::string NamesText(const wire::MaintenanceWindow& window) {
  std::vector<std::string> names(window.hosts().begin(), window.hosts().end());
  for (const std::string& job : window.jobs()) names.push_back(absl::StrCat("job ", job.empty() ? "(none)" : job));
  const size_t more = names.size() > kMostNamesShown ? names.size() - kMostNamesShown : 0;
  names.resize(names.size() - more);
  const std::string text = absl::StrJoin(names, ", ");
  return more == 0 ? text : absl::StrCat(text, " and ", more, " more");
}

std::string StateOf(const wire::MaintenanceWindow& window, int64_t now_ns) {
  if (window.end_wall_ns() <= now_ns) return "over";
  return window.begin_wall_ns() <= now_ns ? "now" : "to come";
}

class MaintenanceCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"ACTION", "list (the default), add or end", &action_, /*required=*/false, {"list", "add", "end"}},
            {"ID", "with end: the window", &id_},
            {"--host", "with add: a host, once or more", &hosts_},
            {"--job", "with add: a job, once or more", &jobs_},
            {"--for", "with add: how long, such as 2h", &lasts_},
            {"--in", "with add: when it begins, such as 30m; default: now", &begins_in_},
            {"--note", "with add: why, one line for others to read", &note_},
            {"--all", "with list: also those that are over", &with_past_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    const bool adds = action_ == "add";
    if (action_ != "list" && action_ != "end" && !adds) {
      return absl::InvalidArgumentError(absl::StrCat("maintenance ", action_, ": list, add or end?"));
    }
    const bool describes =
        !hosts_.empty() || !jobs_.empty() || !lasts_.empty() || !begins_in_.empty() || !note_.empty();
    if (!adds && describes) {
      return absl::InvalidArgumentError("only maintenance add takes --host, --job, --for, --in and --note");
    }
    if (action_ != "end" && !id_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("maintenance ", action_, " takes no ID"));
    }
    if (adds) return Add(context);
    return action_ == "end" ? End(context) : List(context);
  }

 private:
  absl::StatusOr<ExitCode> Add(CommandContext& context) {
    if (hosts_.empty() && jobs_.empty()) {
      return absl::InvalidArgumentError("maintenance add needs a --host or a --job");
    }
    if (lasts_.empty()) return absl::InvalidArgumentError("maintenance add needs --for, such as 2h");
    wire::AddMaintenanceRequest request;
    for (const std::string& host : hosts_) request.add_hosts(host);
    for (const std::string& job : jobs_) request.add_jobs(job);
    request.set_note(note_);
    ASSIGN_OR_RETURN(const int64_t lasts_ns, ParseDurationArgument("--for", lasts_));
    ASSIGN_OR_RETURN(int64_t begin_ns, context.collector.NowWallNanos());
    if (!begins_in_.empty()) {
      ASSIGN_OR_RETURN(const int64_t in_ns, ParseDurationArgument("--in", begins_in_));
      begin_ns += in_ns;
    }
    request.set_begin_wall_ns(begin_ns);
    request.set_end_wall_ns(begin_ns + lasts_ns);
    ASSIGN_OR_RETURN(const wire::MaintenanceWindow window, context.collector.AddMaintenance(request));
    Print(window,
          absl::StrCat("of ", NamesText(window), " is from ", WallText(window.begin_wall_ns()), " to ",
                       WallText(window.end_wall_ns())),
          context);
    return ExitCode::kOk;
  }

  absl::StatusOr<ExitCode> End(CommandContext& context) {
    uint64_t id = 0;
    if (!absl::SimpleAtoi(id_, &id)) return absl::InvalidArgumentError("maintenance end needs the number of a window");
    ASSIGN_OR_RETURN(const wire::MaintenanceWindow window, context.collector.EndMaintenance(id));
    Print(window, absl::StrCat("ended ", WallText(window.end_wall_ns())), context);
    return ExitCode::kOk;
  }

  static void Print(const wire::MaintenanceWindow& window, const std::string& text, CommandContext& context) {
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(window), /*indented=*/true) << "\n";
    } else {
      context.out << "window " << window.id() << " " << Printable(text) << "\n";
    }
  }

  absl::StatusOr<ExitCode> List(CommandContext& context) {
    ASSIGN_OR_RETURN(const wire::ListMaintenanceResponse response, context.collector.ListMaintenance(with_past_));
    PrintLeftOutNote(response.left_out(), "windows", context.err);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(response), /*indented=*/true) << "\n";
      return ExitCode::kOk;
    }
    if (response.windows_size() == 0) {
      context.out << "no maintenance\n";
      return ExitCode::kOk;
    }
    ASSIGN_OR_RETURN(const int64_t now_ns, context.collector.NowWallNanos());
    TextTable table({{"ID", TextTable::Align::kRight}, {"STATE"}, {"BEGIN"}, {"END"}, {"OF"}, {"BY"}, {"NOTE"}});
    for (const wire::MaintenanceWindow& window : response.windows()) {
      table.AddRow({absl::StrCat(window.id()), StateOf(window, now_ns), WallText(window.begin_wall_ns()),
                    WallText(window.end_wall_ns()), NamesText(window), window.by(), window.note()});
    }
    context.out << table.Render(context.width, context.colour);
    return ExitCode::kOk;
  }

  std::string action_ = "list";
  std::string id_;
  std::vector<std::string> hosts_;
  std::vector<std::string> jobs_;
  std::string lasts_;
  std::string begins_in_;
  std::string note_;
  bool with_past_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeMaintenanceCommand() { return std::make_unique<MaintenanceCommand>(); }

}  // namespace lockstep
