// What every kind of `lockstep eval` does alike: choose suites and episodes, show how far it is, print the result. Not
// thread-safe: everything writes to the context.

#ifndef LOCKSTEP_CLI_COMMANDS_EVALUATION_H_
#define LOCKSTEP_CLI_COMMANDS_EVALUATION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "cli/command.h"
#include "cli/commands/eval_arguments.h"
#include "eval/report/measure.h"
#include "nlohmann/json.hpp"

namespace lockstep {

// The answer in both of its forms.
struct Evaluation {
  std::vector<Measure> measures;
  std::vector<nlohmann::ordered_json> suites;
  std::vector<std::string> suite_texts;
};

// Writes what context.format asks for to context.out.
void Print(const Evaluation& evaluation, absl::string_view seeds, CommandContext& context);

// Calls `run`, giving it what shows on a terminal how many of `episodes` are done; the line is gone afterwards.
void WithProgress(absl::string_view suite, int32_t episodes, CommandContext& context,
                  const std::function<void(const std::function<void(int32_t)>&)>& run);

// The first number of the episodes that `arguments` asks for.
uint64_t FirstNumber(const EvalArguments& arguments);

template <typename Suite>
int32_t EpisodesOf(const Suite& suite, const EvalArguments& arguments) {
  if (arguments.episodes > 0) return static_cast<int32_t>(arguments.episodes);
  return arguments.quick ? suite.quick_episodes : suite.episodes;
}

// Those of `all` that are asked for and have episodes. INVALID_ARGUMENT = there is none of that name.
template <typename Suites>
auto ChosenSuites(const Suites& all, const EvalArguments& arguments)
    -> absl::StatusOr<std::vector<std::decay_t<decltype(*all.begin())>>> {
  std::vector<std::decay_t<decltype(*all.begin())>> chosen;
  bool known = arguments.suite.empty();
  for (const auto& suite : all) {
    if (!arguments.suite.empty() && arguments.suite != suite.name) continue;
    known = true;
    if (EpisodesOf(suite, arguments) > 0) chosen.push_back(suite);
  }
  if (known) return chosen;
  return absl::InvalidArgumentError(absl::StrCat(
      "no suite '", arguments.suite, "'; there are ",
      absl::StrJoin(all, ", ", [](std::string* out, const auto& suite) { absl::StrAppend(out, suite.name); })));
}

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EVALUATION_H_
