#include "cli/commands/evaluation.h"

#include "cli/render/evaluation_text.h"
#include "cli/render/json.h"
#include "eval/report/evaluation_json.h"
#include "eval/suites/suite.h"

namespace lockstep {

void Print(const Evaluation& evaluation, absl::string_view seeds, CommandContext& context) {
  if (context.format == OutputFormat::kJson) {
    const nlohmann::ordered_json json = EvaluationJson(seeds, evaluation.measures, evaluation.suites);
    context.out << JsonText(json, /*indented=*/true) << "\n";
    return;
  }
  context.out << MeasuresText(evaluation.measures, context.width);
  for (const std::string& text : evaluation.suite_texts) context.out << "\n" << text;
}

void WithProgress(absl::string_view suite, int32_t episodes, CommandContext& context,
                  const std::function<void(const std::function<void(int32_t)>&)>& run) {
  run([&](int32_t done) {
    if (context.progress) context.err << "\r" << suite << ": " << done << " of " << episodes << std::flush;
  });
  if (context.progress) context.err << "\r\033[K" << std::flush;
}

uint64_t FirstNumber(const EvalArguments& arguments) {
  return (arguments.seeds == "report" ? kFirstReportNumber : 0) + arguments.skip;
}

}  // namespace lockstep
