#include "cli/commands/eval_command.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"
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

constexpr uint64_t kNoEpisode = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kMostThreads = 64;
constexpr uint32_t kMostEpisodes = 100'000;

class EvalCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"WHAT", "collectives: localization from operation records", &what_, /*required=*/true},
            {"--suite", "one suite instead of all", &suite_},
            {"--seeds", "tune, or report: those that nobody tunes on", &seeds_},
            {"--episodes", "per suite; 0 = as many as the suite has", &episodes_},
            {"--quick", "few episodes of each suite", &quick_},
            {"--threads", "episodes at the same time; large suites run one at a time anyway", &threads_},
            {"--episode", "only this one of --suite, with its truth and the verdicts in full", &episode_},
            {"--no-baselines", "leave the other methods out", &no_baselines_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    RETURN_IF_ERROR(CheckArguments());
    if (episode_ != kNoEpisode) return ShowEpisode(context);
    std::vector<SuiteSummary> summaries;
    for (const Suite& suite : AllSuites()) {
      if (!suite_.empty() && suite_ != suite.name) continue;
      const int32_t episodes = EpisodesOf(suite);
      if (episodes > 0) summaries.push_back(Summarize(suite, RunOne(suite, episodes, context)));
    }
    const std::vector<Measure> measures = MeasuresOf(summaries);
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ReportJson(seeds_, summaries, measures), /*indented=*/true) << "\n";
      return ExitCode::kOk;
    }
    context.out << MeasuresText(measures, context.width);
    for (const SuiteSummary& summary : summaries) context.out << "\n" << SuiteText(summary, context.width);
    return ExitCode::kOk;
  }

 private:
  absl::Status CheckArguments() const {
    if (what_ != "collectives") {
      return absl::InvalidArgumentError(absl::StrCat("cannot evaluate '", what_, "'; known: collectives"));
    }
    if (seeds_ != "tune" && seeds_ != "report") return absl::InvalidArgumentError("--seeds is tune or report");
    if (threads_ < 1 || threads_ > kMostThreads) return absl::InvalidArgumentError("--threads is 1 to 64");
    if (episodes_ > kMostEpisodes) return absl::InvalidArgumentError("--episodes is at most 100000");
    if (suite_.empty() && episode_ != kNoEpisode) return absl::InvalidArgumentError("--episode needs --suite");
    if (suite_.empty() || FindSuite(suite_) != nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "no suite '", suite_, "'; there are ",
        absl::StrJoin(AllSuites(), ", ", [](std::string* out, const Suite& s) { absl::StrAppend(out, s.name); })));
  }

  int32_t EpisodesOf(const Suite& suite) const {
    if (episodes_ > 0) return static_cast<int32_t>(episodes_);
    return quick_ ? suite.quick_episodes : suite.episodes;
  }

  static JobReport Ask(const JobEvidence& evidence) { return Diagnose(evidence, DiagnosisOptions()); }

  std::vector<EpisodeOutcome> RunOne(const Suite& suite, int32_t episodes, CommandContext& context) const {
    RunOptions options;
    options.baselines = !no_baselines_;
    const auto progress = [&](int32_t done) {
      if (context.progress) context.err << "\r" << suite.name << ": " << done << " of " << episodes << std::flush;
    };
    const uint64_t first = seeds_ == "report" ? kFirstReportNumber : 0;
    std::vector<EpisodeOutcome> outcomes =
        RunSuite(suite, first, episodes, static_cast<int32_t>(threads_), Ask, options, context.clock, progress);
    if (context.progress) context.err << "\r\033[K" << std::flush;
    return outcomes;
  }

  absl::StatusOr<ExitCode> ShowEpisode(CommandContext& context) const {
    const EpisodePlan plan = PlanOf(*FindSuite(suite_), episode_);
    const EpisodeOutcome outcome = RunEpisode(*FindSuite(suite_), episode_, Ask, {}, context.clock);
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
  std::string suite_;
  std::string seeds_ = "tune";
  uint32_t episodes_ = 0;
  uint32_t threads_ = 2;
  uint64_t episode_ = kNoEpisode;
  bool quick_ = false;
  bool no_baselines_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeEvalCommand() { return std::make_unique<EvalCommand>(); }

}  // namespace lockstep
