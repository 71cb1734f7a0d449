#include "cli/commands/completion_command.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/command_table.h"
#include "cli/commands/completion_script.h"
#include "cli/render/json.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

class CompletionCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"SHELL", "bash, zsh or fish", &shell_, /*required=*/true, {std::begin(kShells), std::end(kShells)}}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (std::find(std::begin(kShells), std::end(kShells), shell_) == std::end(kShells)) {
      return absl::InvalidArgumentError(absl::StrCat("completion ", shell_, ": bash, zsh or fish?"));
    }
    const std::string script = CompletionScript(shell_, CompletedVerbs(AllVerbs()), CompletedGlobals());
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText({{"shell", shell_}, {"script", script}}, /*indented=*/true) << "\n";
    } else {
      context.out << script;
    }
    return ExitCode::kOk;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace lockstep
