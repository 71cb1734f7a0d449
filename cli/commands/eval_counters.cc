#include "cli/commands/eval_counters.h"

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/commands/evaluation.h"
#include "cli/render/counter_suite_text.h"
#include "eval/counters/all_counter_methods.h"
#include "eval/counters/counter_measures.h"
#include "eval/counters/counter_method.h"
#include "eval/counters/counter_run.h"
#include "eval/counters/counter_suite.h"
#include "eval/counters/counter_suite_json.h"
#include "eval/counters/counter_summary.h"

namespace lockstep {
namespace {

CounterSummary RunOne(const CounterSuite& suite, const EvalArguments& arguments,
                      const std::vector<CounterMethod>& methods, CommandContext& context) {
  const int32_t episodes = EpisodesOf(suite, arguments);
  std::vector<CounterOutcome> outcomes;
  WithProgress(suite.name, episodes, context, [&](const std::function<void(int32_t)>& progress) {
    outcomes = RunCounterSuite(suite, FirstNumber(arguments), episodes, static_cast<int32_t>(arguments.threads),
                               methods, context.clock, progress);
  });
  return SummarizeCounters(suite, methods, outcomes);
}

ExitCode ShowEpisode(const EvalArguments& arguments, const std::vector<CounterMethod>& methods,
                     CommandContext& context) {
  CounterSuite suite = *FindCounterSuite(arguments.suite);
  suite.baseline_every = 1;
  const CounterOutcome outcome = RunCounterEpisode(suite, arguments.episode, methods, context.clock);
  context.out << "simulated: " << outcome.description << "\n";
  for (size_t i = 0; i < methods.size(); ++i) {
    const MethodOutcome& answer = outcome.methods[i];
    context.out << methods[i].name << ": found " << answer.score.found() << " of " << answer.score.faults.size()
                << ", accused " << answer.score.false_accusations << " wrongly, in "
                << static_cast<double>(answer.detect_ns) / kNanosPerSecond << " s: " << answer.answer << "\n";
  }
  return ExitCode::kOk;
}

}  // namespace

absl::StatusOr<ExitCode> EvaluateCounters(const EvalArguments& arguments, CommandContext& context) {
  ASSIGN_OR_RETURN(const std::vector<CounterSuite> suites, ChosenSuites(AllCounterSuites(), arguments));
  std::vector<CounterMethod> methods = AllCounterMethods();
  if (arguments.no_baselines) methods.resize(1);
  if (arguments.episode != EvalArguments::kNoEpisode) return ShowEpisode(arguments, methods, context);
  Evaluation evaluation;
  std::vector<CounterSummary> summaries;
  for (const CounterSuite& suite : suites) {
    summaries.push_back(RunOne(suite, arguments, methods, context));
    evaluation.suites.push_back(CounterSuiteJson(summaries.back()));
    evaluation.suite_texts.push_back(CounterSuiteText(summaries.back(), context.width));
  }
  evaluation.measures = CounterMeasuresOf(summaries);
  Print(evaluation, arguments.seeds, context);
  return ExitCode::kOk;
}

}  // namespace lockstep
