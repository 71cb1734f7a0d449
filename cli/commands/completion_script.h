// Scripts that make a shell complete the words of `lockstep`: its verbs, their options, and the words that these take.
//
// Made from the table of verbs, so that they know what the program knows. Pure.

#ifndef LOCKSTEP_CLI_COMMANDS_COMPLETION_SCRIPT_H_
#define LOCKSTEP_CLI_COMMANDS_COMPLETION_SCRIPT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/command.h"

namespace lockstep {

inline constexpr const char* kShells[] = {"bash", "zsh", "fish"};

// One option of a verb, or of all.
struct CompletedOption {
  std::vector<std::string> names;  // "-o", "--output"
  std::string help;
  bool takes_value = false;
  std::vector<std::string> choices;  // of the value; empty = any
};

struct CompletedVerb {
  std::string name;
  std::string summary;
  std::vector<CompletedOption> options;
  std::vector<std::string> first_words;  // that its first positional argument takes; empty = files are offered
};

// What there is to complete.
std::vector<CompletedVerb> CompletedVerbs(absl::Span<const Verb> verbs);
std::vector<CompletedOption> CompletedGlobals();

// REQUIRES: `shell` is one of kShells.
std::string CompletionScript(absl::string_view shell, const std::vector<CompletedVerb>& verbs,
                             const std::vector<CompletedOption>& globals);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_COMPLETION_SCRIPT_H_
