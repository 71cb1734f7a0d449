// Runs one verb without the parser and without the other verbs: for tests of a command that asks no collector, or the
// one that it is given.
//
// Not thread-safe.

#ifndef LOCKSTEP_CLI_TESTING_RUN_COMMAND_H_
#define LOCKSTEP_CLI_TESTING_RUN_COMMAND_H_

#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "base/check.h"
#include "base/testing/sim_clock.h"
#include "cli/collector_client.h"
#include "cli/command.h"
#include "cli/exit_code.h"

namespace lockstep {

struct CommandResult {
  ExitCode exit_code;
  std::string out;
  std::string error;  // of one that succeeds: what it wrote to people; "" = none
};

inline constexpr char kNoCollector[] = "127.0.0.1:1";

// The arguments of `command` are filled.
inline CommandResult RunFilled(const std::unique_ptr<Command>& command, OutputFormat format = OutputFormat::kTable,
                               const std::string& collector = kNoCollector) {
  CollectorClient client(collector);
  SimClock clock;
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{client, format, out, err, /*width=*/0, /*progress=*/false, clock};
  const absl::StatusOr<ExitCode> result = command->Run(context);
  if (result.ok()) return {*result, out.str(), err.str()};
  return {ExitCodeOf(result.status()), out.str(), std::string(result.status().message())};
}

// `values` by the names of the command's arguments; any value switches a flag on.
inline CommandResult RunCommand(const std::unique_ptr<Command>& command,
                                const std::map<std::string, std::string>& values,
                                OutputFormat format = OutputFormat::kTable,
                                const std::string& collector = kNoCollector) {
  size_t used = 0;
  for (const CommandArgument& argument : command->arguments()) {
    const auto value = values.find(argument.name);
    if (value == values.end()) continue;
    ++used;
    std::visit(
        [&](auto* target) {
          using Target = std::remove_pointer_t<decltype(target)>;
          if constexpr (std::is_same_v<Target, bool>) {
            *target = true;
          } else if constexpr (std::is_same_v<Target, std::string>) {
            *target = value->second;
          } else if constexpr (std::is_integral_v<Target>) {
            CHECK(absl::SimpleAtoi(value->second, target));
          } else {
            target->push_back(value->second);
          }
        },
        argument.target);
  }
  CHECK(used == values.size());
  return RunFilled(command, format, collector);
}

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_TESTING_RUN_COMMAND_H_
