#include "cli/commands/eval_collectives.h"

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/status_macros.h"
#include "base/thread_executor.h"
#include "cli/commands/evaluation.h"
#include "cli/render/json.h"
#include "cli/render/suite_text.h"
#include "cli/render/truth_text.h"
#include "detector/engine/diagnosis.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"
#include "eval/report/measures.h"
#include "eval/report/suite_json.h"
#include "eval/report/suite_summary.h"
#include "eval/suites/episode_outcome.h"
#include "eval/suites/episode_run.h"
#include "eval/suites/suite.h"
#include "eval/suites/suite_run.h"
#include "sim/episode.h"

namespace lockstep {
namespace {

Engine EngineOn(Executor* executor) {
  return [executor](const JobEvidence& evidence) { return Diagnose(evidence, {.executor = executor}); };
}

SuiteSummary RunOne(const Suite& suite, const EvalArguments& arguments, CommandContext& context) {
  const int32_t episodes = EpisodesOf(suite, arguments);
  RunOptions options;
  options.baselines = !arguments.no_baselines;
  // Threads that do not have episodes of their own share the work on one.
  ThreadExecutor executor(suite.one_at_a_time ? arguments.threads : 1);
  std::vector<EpisodeOutcome> outcomes;
  WithProgress(suite.name, episodes, context, [&](const std::function<void(int32_t)>& progress) {
    outcomes = RunSuite(suite, FirstNumber(arguments), episodes, static_cast<int32_t>(arguments.threads),
                        EngineOn(&executor), options, context.clock, progress);
  });
  return Summarize(suite, outcomes);
}

ExitCode ShowEpisode(const EvalArguments& arguments, CommandContext& context) {
  const Suite& suite = *FindSuite(arguments.suite);
  const EpisodePlan plan = PlanOf(suite, arguments.episode);
  ThreadExecutor executor(arguments.threads);
  const Engine engine = EngineOn(&executor);
  const EpisodeOutcome outcome = RunEpisode(suite, arguments.episode, engine, {}, context.clock);
  context.out << "simulated: " << outcome.description << "\n";
  const Episode episode = SimulatePlan(plan);
  context.out << TruthText(episode.truth);
  const JobReport report = engine(episode.evidence);
  context.out << "state: " << Name(report.state) << ", " << report.steps << " steps of " << report.step_seconds_median
              << " s, diagnosed in " << static_cast<double>(outcome.diagnose_ns) / kNanosPerSecond << " s\n";
  for (const Verdict& verdict : report.verdicts) context.out << ToJsonLine(verdict) << "\n";
  context.out << "wrongly accused: " << absl::StrJoin(outcome.score.accused_wrongly, ",")
              << "; steps to the verdict: " << outcome.steps_to_verdict
              << "; seconds to the culprit set: " << outcome.hang_seconds << "\n";
  return ExitCode::kOk;
}

}  // namespace

absl::StatusOr<ExitCode> EvaluateCollectives(const EvalArguments& arguments, CommandContext& context) {
  ASSIGN_OR_RETURN(const std::vector<Suite> suites, ChosenSuites(AllSuites(), arguments));
  if (arguments.episode != EvalArguments::kNoEpisode) return ShowEpisode(arguments, context);
  Evaluation evaluation;
  std::vector<SuiteSummary> summaries;
  for (const Suite& suite : suites) {
    summaries.push_back(RunOne(suite, arguments, context));
    evaluation.suites.push_back(SuiteJson(summaries.back()));
    evaluation.suite_texts.push_back(SuiteText(summaries.back(), context.width));
  }
  evaluation.measures = MeasuresOf(summaries);
  Print(evaluation, arguments.seeds, context);
  return ExitCode::kOk;
}

}  // namespace lockstep
