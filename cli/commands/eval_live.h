// `lockstep eval live`: how good the collector's engine is on what agents report, in virtual time.

#ifndef LOCKSTEP_CLI_COMMANDS_EVAL_LIVE_H_
#define LOCKSTEP_CLI_COMMANDS_EVAL_LIVE_H_

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/commands/eval_arguments.h"

namespace lockstep {

// InvalidArgument for a suite that does not exist; the other arguments are taken as checked. Writes to context.out.
absl::StatusOr<ExitCode> EvaluateLive(const EvalArguments& arguments, CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EVAL_LIVE_H_
