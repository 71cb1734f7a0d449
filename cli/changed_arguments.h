// Which arguments of a command were given: an option that another one would ignore is refused, not ignored.
//
// Pure function; thread-compatible.

#ifndef LOCKSTEP_CLI_CHANGED_ARGUMENTS_H_
#define LOCKSTEP_CLI_CHANGED_ARGUMENTS_H_

#include <string>
#include <vector>

#include "cli/command.h"

namespace lockstep {

// The names of the arguments of `filled` whose values differ from those of `fresh`, a command of the same verb as it
// was made, in the order of its arguments. An option given with its default value does not count.
std::vector<std::string> ChangedArguments(Command& filled, Command& fresh);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_CHANGED_ARGUMENTS_H_
