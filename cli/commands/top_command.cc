#include "cli/commands/top_command.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/stop_signal.h"
#include "cli/duration_argument.h"
#include "cli/render/fleet_overview.h"
#include "cli/render/json.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr uint32_t kMostIncidents = 100;
constexpr char kHome[] = "\x1b[H";         // to the upper left corner
constexpr char kEndOfLine[] = "\x1b[K";    // clears what is left of the line before
constexpr char kEndOfScreen[] = "\x1b[J";  // clears what is below
constexpr char kClearScreen[] = "\x1b[H\x1b[2J";

class TopCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"--once", "print it once and leave", &once_},
            {"--every", "time between two looks, such as 5s", &every_},
            {"--for", "end after this time, such as 1m; default: when it is interrupted", &lasts_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    ASSIGN_OR_RETURN(const int64_t every_ns, ParseDurationArgument("--every", every_));
    int64_t end_ns = 0;
    if (!lasts_.empty()) {
      ASSIGN_OR_RETURN(const int64_t lasts_ns, ParseDurationArgument("--for", lasts_));
      end_ns = context.clock.MonotonicNanos() + lasts_ns;
    }
    const bool in_place = context.width > 0 && !once_ && context.format == OutputFormat::kTable;
    if (in_place) context.out << kClearScreen;
    StopSignal never;
    bool first = true;
    bool known = false;  // the collector has answered before
    while (true) {
      const absl::StatusOr<FleetOverview> overview = Look(context);
      if (!overview.ok() && !known) return overview.status();
      known = true;
      if (overview.ok()) {
        Show(*overview, in_place, std::exchange(first, false), context);
      } else {
        context.err << "lockstep: " << overview.status().message() << std::endl;
      }
      if (!context.out) return absl::FailedPreconditionError("cannot write the output");
      if (once_ || (end_ns != 0 && context.clock.MonotonicNanos() >= end_ns)) return ExitCode::kOk;
      never.WaitFor(every_ns);
    }
  }

 private:
  static absl::StatusOr<FleetOverview> Look(CommandContext& context) {
    FleetOverview overview;
    ASSIGN_OR_RETURN(overview.status, context.collector.GetStatus());
    ASSIGN_OR_RETURN(overview.jobs, context.collector.ListJobs());
    wire::ListIncidentsRequest request;
    request.set_open_only(true);
    request.set_limit(kMostIncidents);
    ASSIGN_OR_RETURN(overview.incidents, context.collector.ListIncidents(request));
    return overview;
  }

  static void Show(const FleetOverview& overview, bool in_place, bool first, CommandContext& context) {
    if (context.format == OutputFormat::kJson) {
      const nlohmann::ordered_json json = {{"status", ToJson(overview.status)},
                                           {"jobs", ToJson(overview.jobs)["jobs"]},
                                           {"incidents", ToJson(overview.incidents)["incidents"]}};
      context.out << JsonText(json, /*indented=*/false) << std::endl;
      return;
    }
    // One line of the terminal stays free for the cursor.
    const int height = in_place && context.height > 1 ? context.height - 1 : 0;
    const std::string text = OverviewText(overview, context.width, height, context.colour);
    if (!in_place) {
      context.out << (first ? "" : "\n") << text << std::flush;
      return;
    }
    context.out << kHome;
    for (const char c : text) {
      if (c == '\n') context.out << kEndOfLine;
      context.out << c;
    }
    context.out << kEndOfScreen << std::flush;
  }

  std::string every_ = "2s";
  std::string lasts_;
  bool once_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTopCommand() { return std::make_unique<TopCommand>(); }

}  // namespace lockstep
