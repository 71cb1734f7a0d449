#include "cli/commands/ack_command.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "cli/render/json.h"
#include "cli/render/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

class AckCommand final : public Command {
 public:
  std::vector<CommandArgument> arguments() override {
    return {{"INCIDENT", "number of an open incident", &id_, /*required=*/true},
            {"--note", "what is done about it, one line for others to read", &note_},
            {"--undo", "nobody has it in hand any more", &undo_}};
  }

  absl::StatusOr<ExitCode> Run(CommandContext& context) override {
    if (undo_ && !note_.empty()) return absl::InvalidArgumentError("--undo takes no --note");
    ASSIGN_OR_RETURN(const wire::Incident incident, context.collector.Acknowledge(id_, note_, undo_));
    if (context.format == OutputFormat::kJson) {
      context.out << JsonText(ToJson(incident), /*indented=*/true) << "\n";
    } else if (undo_) {
      context.out << "incident " << id_ << " is in nobody's hands\n";
    } else {
      context.out << "incident " << id_ << " is acknowledged by " << Printable(incident.acknowledgement().by()) << "\n";
    }
    return ExitCode::kOk;
  }

 private:
  uint64_t id_ = 0;
  std::string note_;
  bool undo_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeAckCommand() { return std::make_unique<AckCommand>(); }

}  // namespace lockstep
