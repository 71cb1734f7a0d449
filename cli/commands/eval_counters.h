// `lockstep eval counters`: how good methods are that look at counters alone.

#ifndef LOCKSTEP_CLI_COMMANDS_EVAL_COUNTERS_H_
#define LOCKSTEP_CLI_COMMANDS_EVAL_COUNTERS_H_

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/commands/eval_arguments.h"

namespace lockstep {

// InvalidArgument for a suite that does not exist; the other arguments are taken as checked. Writes to context.out.
absl::StatusOr<ExitCode> EvaluateCounters(const EvalArguments& arguments, CommandContext& context);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMANDS_EVAL_COUNTERS_H_
