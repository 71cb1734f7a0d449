#include "cli/commands/eval_command.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/commands/eval_arguments.h"
#include "cli/commands/eval_counters.h"
#include "cli/render/evaluation_text.h"
#include "cli/render/json.h"
#include "detector/diagnosis.h"
#include "detector/job_evidence.h"
#include "detector/job_report.h"
#include "detector/verdict.h"
#include "eval/report/measures.h"
#include "eval/report/report_json.h"
#include "eval/report/suite_summary.h"
#include "eval/suites/episode_outcome.h"
#include "eval/suites/episode_run.h"
#include "eval/suites/suite.h"
#include "eval/suites/suite_run.h"
#include "nlohmann/json.hpp"
#include "sim/episode.h"

namespace lockstep {
namespace {

constexpr uint64_t kNoEpisode = EvalArguments::kNoEpisode;
constexpr uint32_t kMostThreads = 64;
constexpr uint32_t kMostEpisodes = 100'000;

class EvalCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"WHAT", "collectives: localization from operation records; counters: faulty machines from counters alone",
             &what_, /*required=*/true},
            {"--suite", "one suite instead of all", &arguments_.suite},
            {"--seeds", "tune, or report: those that nobody tunes on", &arguments_.seeds},
            {"--episodes", "per suite; 0 = as many as the suite has", &arguments_.episodes},
            {"--quick", "few episodes of each suite", &arguments_.quick},
            {"--threads", "episodes at the same time; large suites run one at a time anyway", &arguments_.threads},
            {"--episode", "only this one of --suite, with its truth and the verdicts in full", &arguments_.episode},
            {"--no-baselines", "leave the other methods out", &arguments_.no_baselines}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    RETURN_IF_ERROR(CheckArguments());
    if (what_ == "counters") return EvaluateCounters(arguments_, context);
    RETURN_IF_ERROR(CheckSuite());
    if (arguments_.episode != kNoEpisode) return ShowEpisode(context);
    std::vector<SuiteSummary> summaries;
    for (const Suite& suite : AllSuites()) {
      if (!arguments_.suite.empty() && arguments_.suite != suite.name) continue;
      const int32_t episodes = EpisodesOf(suite);
      if (episodes > 0) summaries.push_back(Summarize(suite, RunOne(suite, episodes, context)));
    }
    const std::vector<Measure> measures = MeasuresOf(summaries);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ReportJson(arguments_.seeds, summaries, measures), /*indented=*/true) << "\n";
      return ExitCode::kOk;
    }
    context.out << MeasuresText(measures, context.width);
    for (const SuiteSummary& summary : summaries) context.out << "\n" << SuiteText(summary, context.width);
    return ExitCode::kOk;
  }

 private:
  absl::Status CheckArguments() const {
    if (what_ != "collectives" && what_ != "counters") {
      return absl::InvalidArgumentError(absl::StrCat("cannot evaluate '", what_, "'; known: collectives, counters"));
    }
    if (arguments_.seeds != "tune" && arguments_.seeds != "report")
      return absl::InvalidArgumentError("--seeds is tune or report");
    if (arguments_.threads < 1 || arguments_.threads > kMostThreads)
      return absl::InvalidArgumentError("--threads is 1 to 64");
    if (arguments_.episodes > kMostEpisodes) return absl::InvalidArgumentError("--episodes is at most 100000");
    if (arguments_.suite.empty() && arguments_.episode != kNoEpisode)
      return absl::InvalidArgumentError("--episode needs --suite");
    return absl::OkStatus();
  }

  absl::Status CheckSuite() const {
    if (arguments_.suite.empty() || FindSuite(arguments_.suite) != nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "no suite '", arguments_.suite, "'; there are ",
        absl::StrJoin(AllSuites(), ", ", [](std::string* out, const Suite& s) { absl::StrAppend(out, s.name); })));
  }

  int32_t EpisodesOf(const Suite& suite) const {
    if (arguments_.episodes > 0) return static_cast<int32_t>(arguments_.episodes);
    return arguments_.quick ? suite.quick_episodes : suite.episodes;
  }

  static JobReport Ask(const JobEvidence& evidence) { return Diagnose(evidence, DiagnosisOptions()); }

  std::vector<EpisodeOutcome> RunOne(const Suite& suite, int32_t episodes, CommandContext& context) const {
    RunOptions options;
    options.baselines = !arguments_.no_baselines;
    const auto progress = [&](int32_t done) {
      if (context.progress) context.err << "\r" << suite.name << ": " << done << " of " << episodes << std::flush;
    };
    const uint64_t first = arguments_.seeds == "report" ? kFirstReportNumber : 0;
    std::vector<EpisodeOutcome> outcomes = RunSuite(suite, first, episodes, static_cast<int32_t>(arguments_.threads),
                                                    Ask, options, context.clock, progress);
    if (context.progress) context.err << "\r\033[K" << std::flush;
    return outcomes;
  }

  absl::StatusOr<ExitCode> ShowEpisode(CommandContext& context) const {
    const EpisodePlan plan = PlanOf(*FindSuite(arguments_.suite), arguments_.episode);
    const EpisodeOutcome outcome = RunEpisode(*FindSuite(arguments_.suite), arguments_.episode, Ask, {}, context.clock);
    context.out << "simulated: " << outcome.description << "\n";
    const Episode episode = SimulatePlan(plan);
    for (const TrueCause& cause : episode.truth.causes) {
      context.out << "truth: " << Name(cause.scope) << " " << Name(cause.verdict_class) << ", steps "
                  << cause.first_step << " to " << cause.last_step << ", slowdown "
                  << 100 * cause.cost.slowdown_fraction << " %:";
      for (const Culprit& culprit : cause.culprits) {
        context.out << " " << culprit.host << (culprit.peer_host.empty() ? "" : "->" + culprit.peer_host) << "/rank"
                    << culprit.rank << (culprit.device.empty() ? "" : "/" + culprit.device);
      }
      context.out << "; not to be told from: " << absl::StrJoin(cause.indistinguishable_hosts, ",") << "\n";
    }
    context.out << "true state: " << Name(episode.truth.state) << "\n";
    const JobReport report = Ask(episode.evidence);
    context.out << "state: " << Name(report.state) << ", " << report.steps << " steps of " << report.step_seconds_median
                << " s, diagnosed in " << static_cast<double>(outcome.diagnose_ns) / kNanosPerSecond << " s\n";
    for (const Verdict& verdict : report.verdicts) context.out << ToJsonLine(verdict) << "\n";
    context.out << "wrongly accused: " << absl::StrJoin(outcome.score.accused_wrongly, ",")
                << "; steps to the verdict: " << outcome.steps_to_verdict
                << "; seconds to the culprit set: " << outcome.hang_seconds << "\n";
    return ExitCode::kOk;
  }

  std::string what_;
  EvalArguments arguments_;
};

}  // namespace

std::unique_ptr<Command> MakeEvalCommand() { return std::make_unique<EvalCommand>(); }

}  // namespace lockstep
