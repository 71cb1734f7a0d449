#include "cli/commands/eval_counters.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "cli/render/counter_evaluation_text.h"
#include "cli/render/evaluation_text.h"
#include "cli/render/json.h"
#include "eval/counters/all_counter_methods.h"
#include "eval/counters/counter_measures.h"
#include "eval/counters/counter_method.h"
#include "eval/counters/counter_report_json.h"
#include "eval/counters/counter_run.h"
#include "eval/counters/counter_suite.h"
#include "eval/counters/counter_summary.h"
#include "eval/report/measures.h"
#include "eval/suites/suite.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

int32_t EpisodesOf(const CounterSuite& suite, const EvalArguments& arguments) {
  if (arguments.episodes > 0) return static_cast<int32_t>(arguments.episodes);
  return arguments.quick ? suite.quick_episodes : suite.episodes;
}

CounterSummary RunOne(const CounterSuite& suite, const EvalArguments& arguments,
                      const std::vector<CounterMethod>& methods, CommandContext& context) {
  const int32_t episodes = EpisodesOf(suite, arguments);
  const auto progress = [&](int32_t done) {
    if (context.progress) context.err << "\r" << suite.name << ": " << done << " of " << episodes << std::flush;
  };
  const uint64_t first = arguments.seeds == "report" ? kFirstReportNumber : 0;
  const std::vector<CounterOutcome> outcomes = RunCounterSuite(
      suite, first, episodes, static_cast<int32_t>(arguments.threads), methods, context.clock, progress);
  if (context.progress) context.err << "\r\033[K" << std::flush;
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
  if (!arguments.suite.empty() && FindCounterSuite(arguments.suite) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no suite '", arguments.suite, "'; there are ",
        absl::StrJoin(AllCounterSuites(), ", ",
                      [](std::string* out, const CounterSuite& suite) { absl::StrAppend(out, suite.name); })));
  }
  std::vector<CounterMethod> methods = AllCounterMethods();
  if (arguments.no_baselines) methods.resize(1);
  if (arguments.episode != EvalArguments::kNoEpisode) return ShowEpisode(arguments, methods, context);
  std::vector<CounterSummary> summaries;
  for (const CounterSuite& suite : AllCounterSuites()) {
    if (!arguments.suite.empty() && arguments.suite != suite.name) continue;
    if (EpisodesOf(suite, arguments) > 0) summaries.push_back(RunOne(suite, arguments, methods, context));
  }
  const std::vector<Measure> measures = CounterMeasuresOf(summaries);
  if (context.format == OutputFormat::kJson) {
    context.out << JsonText(CounterReportJson(arguments.seeds, summaries, measures), /*indented=*/true) << "\n";
    return ExitCode::kOk;
  }
  context.out << MeasuresText(measures, context.width);
  for (const CounterSummary& summary : summaries) context.out << "\n" << CounterSuiteText(summary, context.width);
  return ExitCode::kOk;
}

}  // namespace lockstep
