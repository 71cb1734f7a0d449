#include "cli/commands/eval_patterns.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/status_macros.h"
#include "cli/commands/evaluation.h"
#include "cli/render/pattern_suite_text.h"
#include "eval/patterns/pattern_method.h"
#include "eval/patterns/pattern_suite.h"
#include "eval/patterns/pattern_summary.h"

namespace lockstep {
namespace {

PatternSummary RunOne(const PatternSuite& suite, const EvalArguments& arguments,
                      const std::vector<PatternMethod>& methods, CommandContext& context) {
  const int32_t episodes = EpisodesOf(suite, arguments);
  std::vector<PatternOutcome> outcomes;
  WithProgress(suite.name, episodes, context, [&](const std::function<void(int32_t)>& progress) {
    outcomes = RunPatternSuite(suite, FirstNumber(arguments), episodes, static_cast<int32_t>(arguments.threads),
                               methods, context.clock, progress);
  });
  return SummarizePatterns(suite, methods, outcomes);
}

ExitCode ShowEpisode(PatternSuite suite, const EvalArguments& arguments, const std::vector<PatternMethod>& methods,
                     CommandContext& context) {
  suite.baseline_every = 1;
  const PatternOutcome outcome = RunPatternEpisode(suite, arguments.episode, methods, context.clock);
  context.out << "simulated: " << outcome.description << "\n";
  for (size_t i = 0; i < methods.size(); ++i) {
    const PatternScore& score = outcome.methods[i];
    context.out << methods[i].name << ": " << (score.right ? "right" : "wrong") << ", in " << score.seconds
                << " s: " << score.answer << "\n";
  }
  return ExitCode::kOk;
}

}  // namespace

absl::StatusOr<ExitCode> EvaluatePatterns(const EvalArguments& arguments, CommandContext& context) {
  ASSIGN_OR_RETURN(const std::vector<PatternSuite> suites, ChosenSuites(AllPatternSuites(), arguments));
  std::vector<PatternMethod> methods = AllPatternMethods();
  if (arguments.no_baselines) methods.resize(1);
  if (arguments.episode != EvalArguments::kNoEpisode) return ShowEpisode(suites.front(), arguments, methods, context);
  Evaluation evaluation;
  std::vector<PatternSummary> summaries;
  for (const PatternSuite& suite : suites) {
    summaries.push_back(RunOne(suite, arguments, methods, context));
    evaluation.suites.push_back(PatternSuiteJson(summaries.back()));
    evaluation.suite_texts.push_back(PatternSuiteText(summaries.back(), context.width));
  }
  evaluation.measures = PatternMeasuresOf(summaries);
  Print(evaluation, arguments.seeds, context);
  return ExitCode::kOk;
}

}  // namespace lockstep
