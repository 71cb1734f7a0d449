// What somebody may say of an incident, as words of the command line: `lockstep incidents ACTION ID`. Not thread-safe.

#ifndef LOCKSTEP_CLI_COMMANDS_INCIDENT_ACTIONS_H_
#define LOCKSTEP_CLI_COMMANDS_INCIDENT_ACTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/command.h"

namespace lockstep {

struct IncidentRequest {
  uint64_t id = 0;
  std::string note;
  std::string text;   // of a comment
  std::string lasts;  // of a silence: "2h"
  bool undo = false;  // of what can be taken back
};

// Whether `action` is one of ack, silence, resolve, comment.
bool IsIncidentAction(absl::string_view action);

// Does it and prints the incident, or one line of what holds from now on. INVALID_ARGUMENT for what does not go
// together. REQUIRES: IsIncidentAction.
absl::StatusOr<ExitCode> RunIncidentAction(absl::string_view action, const IncidentRequest& request,
                                           CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_INCIDENT_ACTIONS_H_
