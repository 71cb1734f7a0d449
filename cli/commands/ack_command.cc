#include "cli/commands/ack_command.h"

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/incident_actions.h"

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
    return RunIncidentAction("ack", {.id = id_, .note = note_, .undo = undo_}, context);
  }

 private:
  uint64_t id_ = 0;
  std::string note_;
  bool undo_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeAckCommand() { return std::make_unique<AckCommand>(); }

}  // namespace lockstep
