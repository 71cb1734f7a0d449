// The `lockstep` binary: surroundings in, exit status out.

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/command_line.h"

namespace {

int TerminalWidth(int descriptor) {
  winsize size = {};
  if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace

int main(int argc, char** argv) {
  const char* collector = std::getenv("LOCKSTEP_COLLECTOR");
  const lockstep::CommandLineEnvironment environment{collector == nullptr ? "" : collector,
                                                     std::cout,
                                                     std::cerr,
                                                     TerminalWidth(STDOUT_FILENO),
                                                     /*progress=*/isatty(STDERR_FILENO) != 0,
                                                     lockstep::RealClock()};
  return static_cast<int>(lockstep::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), environment));
}
