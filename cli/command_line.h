// From the words of a command line to a command that ran: the only file that knows the parsing library, and the only
// one that prints errors.

#ifndef LOCKSTEP_CLI_COMMAND_LINE_H_
#define LOCKSTEP_CLI_COMMAND_LINE_H_

#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/collector_client.h"
#include "cli/exit_code.h"

namespace lockstep {

// What surrounds the program. Borrowed for the duration of the call; not thread-safe.
struct CommandLineEnvironment {
  std::string collector;  // $LOCKSTEP_COLLECTOR; "" = unset
  std::ostream& out;
  std::ostream& err;
  int width = 0;          // columns of the terminal behind `out`; 0 = not a terminal
  bool progress = false;  // whether `err` is a terminal
  Clock& clock;
  CollectorKeys keys;   // $LOCKSTEP_TLS_CA and its like
  bool colour = false;  // whether `out` is a terminal that wants colours
  int height = 0;       // lines of that terminal; 0 = not a terminal
};

// Runs `arguments` (without the program's name). Errors go to environment.err as one line "lockstep: ...".
ExitCode RunCommandLine(const std::vector<std::string>& arguments, const CommandLineEnvironment& environment);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMAND_LINE_H_
