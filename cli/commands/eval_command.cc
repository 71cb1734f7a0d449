#include "cli/commands/eval_command.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/commands/eval_arguments.h"
#include "cli/commands/eval_collectives.h"
#include "cli/commands/eval_counters.h"
#include "cli/commands/eval_fleets.h"
#include "cli/commands/eval_live.h"

namespace lockstep {
namespace {

constexpr uint64_t kNoEpisode = EvalArguments::kNoEpisode;
constexpr uint32_t kMostThreads = 64;
constexpr uint32_t kMostEpisodes = 100'000;
// Numbers of --seeds tune and of --seeds report must not meet.
constexpr uint32_t kMostSkipped = 800'000;

class EvalCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {
        {"WHAT",
         "collectives: localization from operation records; counters: faulty machines from counters alone; live: "
         "the collector's engine on what agents report; fleets: the judge of files in worlds of the second simulator",
         &what_, /*required=*/true},
        {"--suite", "one suite instead of all", &arguments_.suite},
        {"--seeds", "tune, or report: those that nobody tunes on", &arguments_.seeds},
        {"--episodes", "per suite; 0 = as many as the suite has", &arguments_.episodes},
        {"--skip", "leave out that many episodes of each suite first", &arguments_.skip},
        {"--quick", "few episodes of each suite", &arguments_.quick},
        {"--threads", "episodes at the same time; those of large suites run one by one, each on all threads",
         &arguments_.threads},
        {"--episode", "only this one of --suite, with its truth and the verdicts in full", &arguments_.episode},
        {"--no-baselines", "leave the other methods out; live: do not judge recordings as files",
         &arguments_.no_baselines}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    RETURN_IF_ERROR(CheckArguments());
    if (what_ == "fleets") return EvaluateFleets(arguments_, context);
    if (what_ == "live") return EvaluateLive(arguments_, context);
    return what_ == "counters" ? EvaluateCounters(arguments_, context) : EvaluateCollectives(arguments_, context);
  }

 private:
  absl::Status CheckArguments() const {
    if (what_ != "collectives" && what_ != "counters" && what_ != "live" && what_ != "fleets") {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot evaluate '", what_, "'; known: collectives, counters, fleets, live"));
    }
    if (arguments_.seeds != "tune" && arguments_.seeds != "report")
      return absl::InvalidArgumentError("--seeds is tune or report");
    if (arguments_.threads < 1 || arguments_.threads > kMostThreads)
      return absl::InvalidArgumentError("--threads is 1 to 64");
    if (arguments_.episodes > kMostEpisodes) return absl::InvalidArgumentError("--episodes is at most 100000");
    if (arguments_.skip > kMostSkipped) return absl::InvalidArgumentError("--skip is at most 800000");
    if (what_ != "fleets" && arguments_.suite.empty() && arguments_.episode != kNoEpisode)
      return absl::InvalidArgumentError("--episode needs --suite");
    return absl::OkStatus();
  }

  std::string what_;
  EvalArguments arguments_;
};

}  // namespace

std::unique_ptr<Command> MakeEvalCommand() { return std::make_unique<EvalCommand>(); }

}  // namespace lockstep
