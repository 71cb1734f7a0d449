#include "cli/commands/ranks_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/left_out_note.h"
#include "cli/render/json.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;

std::string NumberOrDash(int32_t number, int32_t lowest) { return number < lowest ? "-" : absl::StrCat(number); }

class RanksCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"JOB", "the job, as `lockstep jobs` calls it", &job_, /*required=*/true}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    wire::ListRanksRequest request;
    request.set_job(job_);
    ASSIGN_OR_RETURN(const wire::ListRanksResponse response, context.collector.ListRanks(request));
    if (response.ranks_size() == 0) return absl::NotFoundError(absl::StrCat("no ranks of a job called ", job_));
    PrintLeftOutNote(response.left_out(), "ranks", context.err);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(response), /*indented=*/true) << "\n";
      return ExitCode::kOk;
    }
    ASSIGN_OR_RETURN(const int64_t now_ns, context.collector.NowWallNanos());
    context.out << Table(response, now_ns).Render(context.width);
    return ExitCode::kOk;
  }

 private:
  // "gone (SIGKILL)".
  static std::string StateText(const wire::Rank& rank) {
    return rank.end().empty() ? rank.process_state() : absl::StrCat(rank.process_state(), " (", rank.end(), ")");
  }

  static TextTable Table(const wire::ListRanksResponse& response, int64_t now) {
    // Outside Kubernetes nobody has a pod.
    const bool has_pods = std::any_of(response.ranks().begin(), response.ranks().end(),
                                      [](const wire::Rank& rank) { return !rank.pod().empty(); });
    std::vector<TextTable::Column> columns = {{"RANK", kRight}, {"HOST"}};
    if (has_pods) columns.push_back({"POD"});
    columns.insert(columns.end(), {{"PID", kRight},
                                   {"GPU", kRight},
                                   {"STATE"},
                                   {"ENQUEUED", kRight},
                                   {"FINISHED", kRight},
                                   {"LOST", kRight},
                                   {"OWN/STEP", kRight},
                                   {"WAIT/STEP", kRight},
                                   {"LAST SEEN", kRight}});
    TextTable table(std::move(columns));
    for (const wire::Rank& rank : response.ranks()) {
      std::vector<std::string> row = {absl::StrCat(rank.rank()), rank.host()};
      if (has_pods) row.push_back(rank.pod().empty() ? "-" : rank.pod());
      row.insert(row.end(), {NumberOrDash(rank.pid(), 1), NumberOrDash(rank.gpu(), 0), StateText(rank),
                             absl::StrCat(rank.enqueued()), absl::StrCat(rank.finished()),
                             absl::StrCat(rank.lost_records()), SecondsText(rank.own_seconds_per_step()),
                             SecondsText(rank.wait_seconds_per_step()), AgeText(rank.last_seen_wall_ns(), now)});
      table.AddRow(std::move(row));
    }
    return table;
  }

  std::string job_;
};

}  // namespace

std::unique_ptr<Command> MakeRanksCommand() { return std::make_unique<RanksCommand>(); }

}  // namespace lockstep
