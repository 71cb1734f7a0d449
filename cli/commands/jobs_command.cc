#include "cli/commands/jobs_command.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/left_out_note.h"
#include "cli/render/colour.h"
#include "cli/render/json.h"
#include "cli/render/ledger_text.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;

// "4/4": ranks seen of the world's size, if that is known.
std::string RanksText(const wire::Job& job) {
  return job.world_size() > 0 ? absl::StrCat(job.ranks(), "/", job.world_size()) : absl::StrCat(job.ranks());
}

class JobsCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override { return {}; }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    ASSIGN_OR_RETURN(const wire::ListJobsResponse response, context.collector.ListJobs());
    PrintLeftOutNote(response.left_out(), "jobs", context.err);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(response), /*indented=*/true) << "\n";
      return ExitCode::kOk;
    }
    ASSIGN_OR_RETURN(const int64_t now, context.collector.NowWallNanos());
    TextTable table({{"JOB"},
                     {"STATE", TextTable::Align::kLeft, StateColour},
                     {"RANKS", kRight},
                     {"HOSTS", kRight},
                     {"STEPS", kRight},
                     {"STEPS/S", kRight},
                     {"STEP TIME", kRight},
                     {"LAST SEEN", kRight},
                     {"NOTE"}});
    for (const wire::Job& job : response.jobs()) {
      table.AddRow({job.job(), job.state(), RanksText(job), absl::StrCat(job.hosts()), absl::StrCat(job.steps()),
                    job.steps_per_second() > 0 ? absl::StrFormat("%.2f", job.steps_per_second()) : "-",
                    SecondsText(job.step_seconds_median()), AgeText(job.last_seen_wall_ns(), now), job.note()});
    }
    context.out << (table.empty() ? "no jobs\n" : table.Render(context.width, context.colour));
    const std::string ledgers = LedgersText(response, now);
    if (!ledgers.empty()) context.out << "\n" << ledgers;
    return ExitCode::kOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeJobsCommand() { return std::make_unique<JobsCommand>(); }

}  // namespace lockstep
