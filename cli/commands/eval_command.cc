#include "cli/commands/eval_command.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/changed_arguments.h"
#include "cli/commands/eval_arguments.h"
#include "cli/commands/eval_collectives.h"
#include "cli/commands/eval_counters.h"
#include "cli/commands/eval_fleets.h"
#include "cli/commands/eval_live.h"
#include "cli/commands/eval_metamorphic.h"
#include "cli/commands/eval_patterns.h"

namespace lockstep {
namespace {

constexpr uint64_t kNoEpisode = EvalArguments::kNoEpisode;
constexpr uint32_t kMostThreads = 64;
constexpr uint32_t kMostEpisodes = 100'000;
constexpr uint32_t kMostTrials = 10'000;
// Numbers of --seeds tune and of --seeds report must not meet.
constexpr uint32_t kMostSkipped = 800'000;

struct Evaluator {
  const char* what;
  absl::StatusOr<ExitCode> (*evaluate)(const EvalArguments& arguments, CommandContext& context);
};

constexpr Evaluator kEvaluators[] = {{"collectives", EvaluateCollectives}, {"counters", EvaluateCounters},
                                     {"fleets", EvaluateFleets},           {"live", EvaluateLive},
                                     {"metamorphic", EvaluateMetamorphic}, {"patterns", EvaluatePatterns}};

class EvalCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {
        {"WHAT",
         "collectives: localization from operation records; counters: faulty machines from counters alone; live: "
         "the collector's engine on what agents report; fleets: worlds of the second simulator; patterns: causes from "
         "profiles; "
         "metamorphic: whether verdicts follow when recordings are changed",
         &what_, /*required=*/true},
        {"PATH", "metamorphic: recordings, each a file, directory or glob; none = simulated ones", &arguments_.paths},
        {"--suite", "one suite instead of all", &arguments_.suite},
        {"--seeds", "tune, or report: those that nobody tunes on", &arguments_.seeds},
        {"--episodes", "per suite; 0 = as many as the suite has; of metamorphic four", &arguments_.episodes},
        {"--skip", "leave out that many episodes of each suite first", &arguments_.skip},
        {"--quick", "few episodes of each suite", &arguments_.quick},
        {"--threads", "episodes at the same time; those of large suites run one by one, each on all threads",
         &arguments_.threads},
        {"--episode", "only this one of --suite, with its truth and the verdicts in full", &arguments_.episode},
        {"--save", "live, with --episode: write the recording of its operations there, as ops.csv", &arguments_.save},
        {"--live", "fleets: play each recording to the collector's engine, as agents report it", &arguments_.live},
        {"--no-baselines", "leave the other methods out; live: do not judge recordings as files",
         &arguments_.no_baselines},
        {"--relation", "metamorphic: one relation instead of all", &arguments_.relation},
        {"--trials", "metamorphic: of each relation that draws chance, on each recording", &arguments_.trials},
        {"--trial", "metamorphic: only this one", &arguments_.trial},
        {"--keep", "metamorphic: write what is judged into this directory as ops-csv, 0.csv as it was",
         &arguments_.keep}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    const auto evaluator = std::find_if(std::begin(kEvaluators), std::end(kEvaluators),
                                        [this](const Evaluator& one) { return what_ == one.what; });
    if (evaluator == std::end(kEvaluators)) {
      const std::string known = absl::StrJoin(
          kEvaluators, ", ", [](std::string* out, const Evaluator& one) { absl::StrAppend(out, one.what); });
      return absl::InvalidArgumentError(absl::StrCat("cannot evaluate '", what_, "'; known: ", known));
    }
    RETURN_IF_ERROR(CheckArguments());
    return evaluator->evaluate(arguments_, context);
  }

 private:
  absl::Status CheckWhoseArguments() {
    const std::set<std::string> of_metamorphic = {"PATH", "--relation", "--trials", "--trial", "--keep"};
    EvalCommand fresh;
    for (const std::string& name : ChangedArguments(*this, fresh)) {
      if (what_ == "metamorphic" || !of_metamorphic.contains(name)) continue;
      return absl::InvalidArgumentError(absl::StrCat(name, " is of metamorphic alone"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckArguments() {
    RETURN_IF_ERROR(CheckWhoseArguments());
    if (!arguments_.suite.empty() && !arguments_.paths.empty())
      return absl::InvalidArgumentError("either --suite or PATH");
    if (arguments_.trials < 1 || arguments_.trials > kMostTrials)
      return absl::InvalidArgumentError("--trials is 1 to 10000");
    if (arguments_.seeds != "tune" && arguments_.seeds != "report")
      return absl::InvalidArgumentError("--seeds is tune or report");
    if (arguments_.threads < 1 || arguments_.threads > kMostThreads)
      return absl::InvalidArgumentError("--threads is 1 to 64");
    if (arguments_.episodes > kMostEpisodes) return absl::InvalidArgumentError("--episodes is at most 100000");
    if (arguments_.skip > kMostSkipped) return absl::InvalidArgumentError("--skip is at most 800000");
    if (what_ != "fleets" && arguments_.suite.empty() && arguments_.episode != kNoEpisode)
      return absl::InvalidArgumentError("--episode needs --suite");
    if (arguments_.live && what_ != "fleets") return absl::InvalidArgumentError("--live goes with fleets");
    if (!arguments_.save.empty() && (what_ != "live" || arguments_.episode == kNoEpisode))
      return absl::InvalidArgumentError("--save goes with live and --episode");
    return absl::OkStatus();
  }

  std::string what_;
  EvalArguments arguments_;
};

}  // namespace

std::unique_ptr<Command> MakeEvalCommand() { return std::make_unique<EvalCommand>(); }

}  // namespace lockstep
