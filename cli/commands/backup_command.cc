#include "cli/commands/backup_command.h"

#include <vector>

#include "base/status_macros.h"
#include "cli/render/json.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

class BackupCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override { return {}; }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    ASSIGN_OR_RETURN(const wire::BackupResponse backup, context.collector.Backup());
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(backup), /*indented=*/true) << "\n";
    } else {
      context.out << Printable(backup.directory()) << "\n";
    }
    return ExitCode::kOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeBackupCommand() { return std::make_unique<BackupCommand>(); }

}  // namespace lockstep
