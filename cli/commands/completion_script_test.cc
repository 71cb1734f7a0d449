// What a shell offers, asked of the shell. Those that are not installed are skipped, but for bash.

#include "cli/commands/completion_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/testing/temporary_directory.h"
#include "cli/command.h"
#include "cli/commands/command_table.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSubsetOf;
using ::testing::Not;

std::string Output(const std::string& command) {
  const auto close = [](std::FILE* pipe) { pclose(pipe); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(popen(command.c_str(), "r"), close);
  std::string output;
  std::array<char, 4096> buffer;
  while (const size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    output.append(buffer.data(), read);
  return output;
}

std::string Script(const std::string& shell) {
  return CompletionScript(shell, CompletedVerbs(AllVerbs()), CompletedGlobals());
}

class CompletionScriptTest : public testing::Test {
 protected:
  // What bash offers for the last of `words`.
  std::vector<std::string> Bash(const std::vector<std::string>& words) {
    std::string command =
        absl::StrCat("bash -c 'source ", directory_.Write("bash", Script("bash")).string(), "; COMP_WORDS=(lockstep");
    for (const std::string& word : words) absl::StrAppend(&command, " \"", word, "\"");
    absl::StrAppend(&command, "); COMP_CWORD=", words.size(),
                    "; _lockstep; printf \"%s\\n\" \"${COMPREPLY[@]}\"' 2>&1");
    return absl::StrSplit(Output(command), '\n', absl::SkipEmpty());
  }

  TemporaryDirectory directory_;
};

TEST_F(CompletionScriptTest, BashKnowsAllVerbsOptionsAndTheirWords) {
  std::vector<std::string> all;
  for (const Verb& verb : AllVerbs()) all.emplace_back(verb.name);
  EXPECT_THAT(all, IsSubsetOf(Bash({""})));
  EXPECT_THAT(Bash({"inci"}), ElementsAre("incidents"));
  EXPECT_THAT(Bash({"incidents", "s"}), ElementsAre("show", "silence"));
  EXPECT_THAT(Bash({"incidents", "silence", "7", "--f"}), ElementsAre("--fail-on-open", "--follow", "--for"));
  EXPECT_THAT(Bash({"--coll"}), ElementsAre("--collector"));
  EXPECT_THAT(Bash({"jobs", "--output", ""}), ElementsAre("table", "json"));
  EXPECT_THAT(Bash({"--collector", "10.0.0.1:7070", "comp"}), ElementsAre("completion"));
  EXPECT_THAT(Bash({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(Bash({"maintenance", "--host", "node-1", "a"}), ElementsAre("add")) << "node-1 is no action";
}

TEST_F(CompletionScriptTest, BashOffersFilesWhereAVerbTakesThem) {
  const std::string file = directory_.Write("recording.csv", "").string();
  EXPECT_THAT(Bash({"diagnose", file.substr(0, file.size() - 3)}), ElementsAre(file));
}

TEST_F(CompletionScriptTest, ZshReadsIts) {
  if (Output("command -v zsh").empty()) GTEST_SKIP() << "zsh is not installed";
  const std::string file = directory_.Write("_lockstep", Script("zsh")).string();
  EXPECT_EQ(Output(absl::StrCat("zsh -n ", file, " 2>&1")), "");
  EXPECT_EQ(Output(absl::StrCat("zsh -fc 'fpath=(", directory_.path().string(),
                                " $fpath); autoload -Uz compinit; compinit -u -D; autoload +X _lockstep && "
                                "source ",
                                file, " && print ${+functions[_lockstep_verb_incidents]}' 2>&1")),
            "1\n");
}

TEST_F(CompletionScriptTest, FishOffersVerbsAndWords) {
  if (Output("command -v fish").empty()) GTEST_SKIP() << "fish is not installed";
  const std::string file = directory_.Write("lockstep.fish", Script("fish")).string();
  const auto offered = [&](const std::string& line) {
    const std::string output = Output(absl::StrCat("HOME=", directory_.path().string(), " fish -c 'source ", file,
                                                   "; complete -C \"", line, "\"' 2>&1"));
    std::vector<std::string> words;
    for (const absl::string_view one : absl::StrSplit(output, '\n', absl::SkipEmpty())) {
      words.emplace_back(one.substr(0, one.find('\t')));
    }
    return words;
  };
  EXPECT_THAT(offered("lockstep inci"), ElementsAre("incidents"));
  EXPECT_THAT(offered("lockstep incidents s"), AllOf(Contains("show"), Contains("silence")));
  EXPECT_THAT(offered("lockstep incidents --fol"), ElementsAre("--follow"));
}

TEST_F(CompletionScriptTest, NothingThatAShellWouldRunIsInTheHelpTexts) {
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = Script(shell);
    EXPECT_THAT(script, Not(testing::HasSubstr("`")));
  }
}

}  // namespace
}  // namespace lockstep
