#include "cli/commands/completion_script.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "cli/commands/global_options.h"

namespace lockstep {
namespace {

// Between single quotes of all three shells, without what any of them would read.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", ""}, {"\\", ""}, {"[", "("}, {"]", ")"}}), "'");
}

CompletedOption ToOption(absl::string_view names, const char* help) {
  CompletedOption option;
  for (const absl::string_view name : absl::StrSplit(names, ',')) option.names.emplace_back(name);
  option.help = help;
  return option;
}

std::vector<std::string> AllNames(const std::vector<CompletedOption>& options) {
  std::vector<std::string> names;
  for (const CompletedOption& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> VerbNames(const std::vector<CompletedVerb>& verbs) {
  std::vector<std::string> names;
  for (const CompletedVerb& verb : verbs) names.push_back(verb.name);
  return names;
}

// The names of those that take a word.
std::vector<std::string> ValueNames(const std::vector<CompletedOption>& options) {
  std::vector<std::string> names;
  for (const CompletedOption& option : options) {
    if (option.takes_value) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// Rows of `case "$verb $before"`: the words that options take, behind `prefix`.
std::string BashChoices(absl::string_view prefix, const std::vector<CompletedOption>& options) {
  std::string text;
  for (const CompletedOption& option : options) {
    if (option.choices.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(absl::StrCat(prefix, "' ", name, "'"));
    absl::StrAppend(&text, "    ", absl::StrJoin(patterns, "|"), ") COMPREPLY=($(compgen -W '",
                    absl::StrJoin(option.choices, " "), "' -- \"$word\")); return ;;\n");
  }
  return text;
}

constexpr char kBashHead[] = R"(# lockstep: completion for bash. Load it by: source <(lockstep completion bash)
_lockstep() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= words=0 first= each i
  COMPREPLY=()
)";

constexpr char kBashLoop[] = R"(  for ((i = 1; i < COMP_CWORD; ++i)); do
    each=${COMP_WORDS[i]}
    if [[ $values == *" $each "* ]]; then
      ((++i))
    elif [[ $each != -* && -n $verb ]]; then
      ((++words))
    elif [[ $each != -* ]]; then
      verb=$each
      case $verb in
)";

constexpr char kBashTail[] = R"(  if [[ $values == *" $before "* ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -z $verb ]]; then
    COMPREPLY=($(compgen -W "$verbs" -- "$word"))
  elif [[ -n $first && $words -eq 0 ]]; then
    COMPREPLY=($(compgen -W "$first" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _lockstep lockstep
)";

std::string BashScript(const std::vector<CompletedVerb>& verbs, const std::vector<CompletedOption>& globals) {
  std::string text = absl::StrCat(kBashHead, "  local values=' ", absl::StrJoin(ValueNames(globals), " "), " '\n",
                                  "  local options='--help --version ", absl::StrJoin(AllNames(globals), " "), "'\n",
                                  "  local verbs='", absl::StrJoin(VerbNames(verbs), " "), "'\n", kBashLoop);
  std::string choices = BashChoices("*", globals);
  for (const CompletedVerb& verb : verbs) {
    absl::StrAppend(&text, "        ", verb.name, ") values+='", absl::StrJoin(ValueNames(verb.options), " "),
                    " ' options+=' ", absl::StrJoin(AllNames(verb.options), " "), "' first='",
                    absl::StrJoin(verb.first_words, " "), "' ;;\n");
    choices += BashChoices(verb.name, verb.options);
  }
  return absl::StrCat(text, "      esac\n    fi\n  done\n  case \"$verb $before\" in\n", choices, "  esac\n",
                      kBashTail);
}

std::string ZshOption(const CompletedOption& option) {
  std::string text;
  for (const std::string& name : option.names) {
    absl::StrAppend(&text, " \\\n    '", name, "[", Quoted(option.help).substr(1));
    text.pop_back();  // the quote that Quoted has added
    const std::string value =
        option.choices.empty() ? "_files" : absl::StrCat("(", absl::StrJoin(option.choices, " "), ")");
    absl::StrAppend(&text, "]", option.takes_value ? absl::StrCat(":value:", value) : "", "'");
  }
  return text;
}

std::string ZshScript(const std::vector<CompletedVerb>& verbs, const std::vector<CompletedOption>& globals) {
  std::string of_all = " \\\n    '--help[how it is used]'";
  for (const CompletedOption& option : globals) of_all += ZshOption(option);
  std::string text =
      "#compdef lockstep\n"
      "# lockstep: completion for zsh. Write it to a file _lockstep in a folder of $fpath.\n"
      "_lockstep_verbs() {\n"
      "  local -a verbs=(\n";
  for (const CompletedVerb& verb : verbs) {
    absl::StrAppend(&text, "    ", Quoted(verb.name).substr(0, verb.name.size() + 1), ":",
                    Quoted(verb.summary).substr(1), "\n");
  }
  absl::StrAppend(&text, "  )\n  _describe 'verb' verbs\n}\n");
  for (const CompletedVerb& verb : verbs) {
    absl::StrAppend(&text, "_lockstep_verb_", absl::StrReplaceAll(verb.name, {{"-", "_"}}), "() {\n  _arguments -s",
                    of_all);
    for (const CompletedOption& option : verb.options) text += ZshOption(option);
    const std::string first =
        verb.first_words.empty() ? "_files" : absl::StrCat("(", absl::StrJoin(verb.first_words, " "), ")");
    absl::StrAppend(&text, " \\\n    '1:word:", first, "' \\\n    '*:word:_files'\n}\n");
  }
  absl::StrAppend(&text, "_lockstep() {\n  local line state\n  _arguments -C -s '--version[print the version]'", of_all,
                  " \\\n    '1:verb:_lockstep_verbs' \\\n    '*::argument:->rest'\n"
                  "  if [[ $state == rest ]] && (( $+functions[_lockstep_verb_${line[1]//-/_}] )); then\n"
                  "    _lockstep_verb_${line[1]//-/_}\n  fi\n}\n"
                  "if [[ $funcstack[1] == _lockstep ]]; then _lockstep \"$@\"; else compdef _lockstep lockstep; fi\n");
  return text;
}

std::string FishOption(absl::string_view condition, const CompletedOption& option) {
  std::string text = absl::StrCat("complete -c lockstep", condition);
  for (const std::string& name : option.names) {
    const bool is_long = name.size() > 2;
    absl::StrAppend(&text, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
  }
  if (option.takes_value) absl::StrAppend(&text, option.choices.empty() ? " -r" : " -x");
  if (!option.choices.empty()) absl::StrAppend(&text, " -a ", Quoted(absl::StrJoin(option.choices, " ")));
  return absl::StrCat(text, " -d ", Quoted(option.help), "\n");
}

std::string FishScript(const std::vector<CompletedVerb>& verbs, const std::vector<CompletedOption>& globals) {
  const std::string names = absl::StrJoin(VerbNames(verbs), " ");
  std::string text = absl::StrCat(
      "# lockstep: completion for fish. Load it by: lockstep completion fish | source\n"
      "set -l verbs ",
      names,
      "\n"
      "complete -c lockstep -l help -d 'how it is used'\n"
      "complete -c lockstep -n \"not __fish_seen_subcommand_from $verbs\" -l version -d 'print the version'\n");
  for (const CompletedOption& option : globals) text += FishOption("", option);
  for (const CompletedVerb& verb : verbs) {
    absl::StrAppend(&text, "complete -c lockstep -f -n \"not __fish_seen_subcommand_from $verbs\" -a ", verb.name,
                    " -d ", Quoted(verb.summary), "\n");
  }
  for (const CompletedVerb& verb : verbs) {
    const std::string condition = absl::StrCat(" -n '__fish_seen_subcommand_from ", verb.name, "'");
    for (const CompletedOption& option : verb.options) text += FishOption(condition, option);
    if (verb.first_words.empty()) continue;
    const std::string words = absl::StrJoin(verb.first_words, " ");
    absl::StrAppend(&text, "complete -c lockstep -f -n '__fish_seen_subcommand_from ", verb.name,
                    "; and not __fish_seen_subcommand_from ", words, "' -a ", Quoted(words), "\n");
  }
  return text;
}

struct Row {
  absl::string_view shell;
  std::string (*script)(const std::vector<CompletedVerb>& verbs, const std::vector<CompletedOption>& globals);
};

constexpr Row kRows[] = {{"bash", BashScript}, {"zsh", ZshScript}, {"fish", FishScript}};

}  // namespace

std::vector<CompletedVerb> CompletedVerbs(absl::Span<const Verb> verbs) {
  std::vector<CompletedVerb> completed;
  for (const Verb& verb : verbs) {
    CompletedVerb& one = completed.emplace_back(CompletedVerb{verb.name, verb.summary, {}, {}});
    const std::unique_ptr<Command> command = verb.make();
    bool is_first = true;
    for (const CommandArgument& argument : command->arguments()) {
      const std::vector<std::string> choices(argument.choices.begin(), argument.choices.end());
      if (argument.name[0] != '-') {
        if (is_first) one.first_words = choices;
        is_first = false;
        continue;
      }
      CompletedOption option = ToOption(argument.name, argument.help);
      option.takes_value = !std::holds_alternative<bool*>(argument.target);
      option.choices = choices;
      one.options.push_back(std::move(option));
    }
  }
  return completed;
}

std::vector<CompletedOption> CompletedGlobals() {
  std::vector<CompletedOption> completed;
  for (const GlobalOption& global : kGlobalOptions) {
    CompletedOption& option = completed.emplace_back(ToOption(global.name, global.help));
    option.takes_value = true;
    option.choices.assign(global.choices.begin(), global.choices.end());
  }
  return completed;
}

std::string CompletionScript(absl::string_view shell, const std::vector<CompletedVerb>& verbs,
                             const std::vector<CompletedOption>& globals) {
  const auto* const row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& one) { return one.shell == shell; });
  CHECK(row != std::end(kRows));
  return row->script(verbs, globals);
}

}  // namespace lockstep
