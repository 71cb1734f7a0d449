// `lockstep sim --kind KIND --world SEED DIRECTORY`: an episode of the second simulator, as files.

#ifndef LOCKSTEP_CLI_COMMANDS_SIM_SECOND_H_
#define LOCKSTEP_CLI_COMMANDS_SIM_SECOND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "cli/command.h"

namespace lockstep {

// INVALID_ARGUMENT: `kind` is none of the second simulator's; the message lists all.
absl::Status NoSuchKind(const std::string& kind);

// Writes ops.csv (with `ending`, "" or ".zst" or ".gz") and truth.json into `directory`, which exists, and reports to
// context.out. INVALID_ARGUMENT = NoSuchKind.
absl::Status WriteSecondSimulation(const std::string& kind, uint64_t world, const std::string& directory,
                                   const std::string& ending, CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_SIM_SECOND_H_
