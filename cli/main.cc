// The `lockstep` binary: surroundings in, exit status out.

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/collector_client.h"
#include "cli/command_line.h"
#include "daemon/grpc_log.h"

namespace {

// Zeros where there is no terminal.
winsize TerminalSize(int descriptor) {
  winsize size = {};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

// "" where it is not set.
std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A terminal, unless somebody wants none (no-color.org) or it cannot show them.
bool WantsColour(int descriptor) {
  return isatty(descriptor) != 0 && FromEnvironment("NO_COLOR").empty() && FromEnvironment("TERM") != "dumb";
}

}  // namespace

int main(int argc, char** argv) {
  lockstep::SilenceGrpcLog();
  const lockstep::CollectorKeys keys = {{{FromEnvironment("LOCKSTEP_TLS_CERTIFICATE"),
                                          FromEnvironment("LOCKSTEP_TLS_KEY"), FromEnvironment("LOCKSTEP_TLS_CA")},
                                         FromEnvironment("LOCKSTEP_TLS_SERVER_NAME")},
                                        FromEnvironment("LOCKSTEP_TOKEN_FILE")};
  const winsize size = TerminalSize(STDOUT_FILENO);
  const lockstep::CommandLineEnvironment environment{FromEnvironment("LOCKSTEP_COLLECTOR"),
                                                     std::cout,
                                                     std::cerr,
                                                     size.ws_col,
                                                     /*progress=*/isatty(STDERR_FILENO) != 0,
                                                     lockstep::RealClock(),
                                                     keys,
                                                     WantsColour(STDOUT_FILENO),
                                                     size.ws_row};
  return static_cast<int>(lockstep::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), environment));
}
