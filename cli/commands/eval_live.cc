#include "cli/commands/eval_live.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/thread_cpu_time.h"
#include "cli/commands/evaluation.h"
#include "cli/render/live_suite_text.h"
#include "cli/render/timeline_text.h"
#include "cli/render/truth_text.h"
#include "detector/engine/diagnosis.h"
#include "detector/engine/job_engine.h"
#include "detector/model/job_evidence.h"
#include "detector/verdict/verdict.h"
#include "eval/live/conclusion_timeline.h"
#include "eval/live/live_engine.h"
#include "eval/live/live_measures.h"
#include "eval/live/live_run.h"
#include "eval/live/live_suite.h"
#include "eval/live/live_suite_json.h"
#include "eval/live/live_summary.h"
#include "eval/suites/episode_run.h"
#include "formats/ops_csv_writer.h"

namespace lockstep {
namespace {

double Seconds(int64_t nanos) { return static_cast<double>(nanos) / kNanosPerSecond; }

LiveRun RunOf(const EvalArguments& arguments) {
  LiveRun run{.engine = CollectorEngine(JobEngineOptions()), .cpu = ThreadCpuNanos};
  if (!arguments.no_baselines) run.file_engine = [](const JobEvidence& evidence) { return Diagnose(evidence, {}); };
  return run;
}

LiveSummary RunOne(const LiveSuite& suite, const EvalArguments& arguments, CommandContext& context) {
  const int32_t episodes = EpisodesOf(suite, arguments);
  std::vector<LiveOutcome> outcomes;
  WithProgress(suite.name, episodes, context, [&](const std::function<void(int32_t)>& progress) {
    outcomes = RunLiveSuite(suite, FirstNumber(arguments), episodes, static_cast<int32_t>(arguments.threads),
                            RunOf(arguments), context.clock, progress);
  });
  return SummarizeLive(suite, outcomes);
}

void ShowPlay(const LiveOutcome& outcome, CommandContext& context) {
  const LivePlay& play = outcome.play;
  context.out << absl::StrFormat(
      "played %.1f s: %d looks, %d of %d with records said unknown, %d operations, %d B reported, %d pulls of %d B\n",
      play.seconds, play.looks, outcome.score.unknown_looks, outcome.score.looks_with_records, play.operations,
      play.report_bytes, play.pulls, play.pulled_bytes);
  context.out << absl::StrFormat("reports: %d delivered, %d delayed, %d lost, %d before their agent\n",
                                 play.delivery.delivered, play.delivery.delayed, play.delivery.lost,
                                 play.delivery.before_agent);
  context.out << absl::StrFormat("CPU: engine %.2f s, the rest of the play %.2f s; simulated in %.2f s\n",
                                 Seconds(play.engine_cpu_ns), Seconds(outcome.play_cpu_ns - play.engine_cpu_ns),
                                 Seconds(outcome.simulate_ns));
  for (const LiveCauseScore& cause : outcome.score.causes) {
    context.out << absl::StrFormat(
        "cause: steps of %.2f s, named after %.1f s = %.1f steps, exact set from %.1f s on, left %.1f s (-1 = never)\n",
        cause.step_seconds, cause.named_seconds, cause.named_steps, cause.exact_seconds, cause.left_seconds);
  }
  context.out << "wrongly accused: " << absl::StrJoin(outcome.score.accused_wrongly, ",") << "\n";
}

absl::StatusOr<ExitCode> ShowEpisode(const EvalArguments& arguments, CommandContext& context) {
  const LivePlan plan = LivePlanOf(*FindLiveSuite(arguments.suite), arguments.episode);
  ConclusionTimeline timeline;
  LiveRun run = RunOf(arguments);
  absl::Status saved;
  if (!arguments.save.empty()) {
    run.file_engine = [&](const JobEvidence& evidence) {
      saved = WriteOpsCsvFile(evidence.trace, arguments.save);
      return Diagnose(evidence, {});
    };
  }
  const LiveOutcome outcome = RunLivePlan(plan, run, context.clock, &timeline);
  RETURN_IF_ERROR(saved);
  context.out << "simulated: " << outcome.description << "\n" << TruthText(outcome.truth);
  ShowPlay(outcome, context);
  context.out << TimelineText(timeline);
  context.out << "at the end: " << outcome.answer << "\n";
  if (outcome.judged_as_file) {
    context.out << "as a file:  " << outcome.file_answer << "\n"
                << (outcome.parity.agrees ? "they agree" : "they differ: " + outcome.parity.difference) << "\n";
  }
  return ExitCode::kOk;
}

}  // namespace

absl::StatusOr<ExitCode> EvaluateLive(const EvalArguments& arguments, CommandContext& context) {
  ASSIGN_OR_RETURN(std::vector<LiveSuite> suites, ChosenSuites(AllLiveSuites(), arguments));
  if (arguments.episode != EvalArguments::kNoEpisode) return ShowEpisode(arguments, context);
  if (arguments.suite.empty()) std::erase_if(suites, [](const LiveSuite& suite) { return suite.on_demand; });
  Evaluation evaluation;
  std::vector<LiveSummary> summaries;
  for (const LiveSuite& suite : suites) {
    summaries.push_back(RunOne(suite, arguments, context));
    evaluation.suites.push_back(LiveSuiteJson(summaries.back()));
    evaluation.suite_texts.push_back(LiveSuiteText(summaries.back(), context.width));
  }
  evaluation.measures = LiveMeasuresOf(summaries);
  Print(evaluation, arguments.seeds, context);
  return ExitCode::kOk;
}

}  // namespace lockstep
