// A verb of the command line: what it takes, and what it does. The parser (cli/command_line.h) is the only file that
// knows the parsing library; a command sees its arguments already in its own fields.

#ifndef LOCKSTEP_CLI_COMMAND_H_
#define LOCKSTEP_CLI_COMMAND_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "cli/collector_client.h"
#include "cli/exit_code.h"

namespace lockstep {

enum class OutputFormat { kTable, kJson };

// What a command works with. Everything is borrowed for the duration of Run. Not thread-safe.
struct CommandContext {
  CollectorClient& collector;
  OutputFormat format = OutputFormat::kTable;
  std::ostream& out;
  std::ostream& err;
  int width = 0;          // columns of the terminal behind `out`; 0 = not a terminal, no limit
  bool progress = false;  // whether `err` is a terminal, where a line may be rewritten in place
  Clock& clock;
  CollectorKeys keys;   // for commands that open connections of their own
  bool colour = false;  // `out` is a terminal that wants colours
  int height = 0;       // lines of that terminal; 0 = no limit
};

// One argument, written by the parser into the command's field before Run. A name without dashes is positional. The
// default shown by --help is the value of the field when the command is made.
struct CommandArgument {
  const char* name;  // "JOB", "--open", "-f,--file"
  const char* help;
  std::variant<bool*, std::string*, uint32_t*, uint64_t*, std::vector<std::string>*> target;  // a list: once or more
  bool required = false;
  // The words that it takes, for completion and for who types another; empty = any text.
  std::vector<const char*> choices = {};
};

// Not thread-safe; made for one run.
class Command {
 public:
  virtual ~Command() = default;

  // The fields to fill, positional ones in order.
  virtual std::vector<CommandArgument> arguments() = 0;

  // Does the work and writes to context.out. INVALID_ARGUMENT is a usage error; the caller prints errors.
  virtual absl::StatusOr<ExitCode> Run(CommandContext& context) = 0;
};

// One row of the table of verbs.
struct Verb {
  const char* name;
  const char* summary;  // one line for `lockstep --help`
  const char* example;  // for `lockstep <verb> --help`
  std::unique_ptr<Command> (*make)();
};

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_COMMAND_H_
