#include "tests/nccl/driver_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/stop_signal.h"

namespace lockstep::nccl {

std::string RecorderPath() { return std::filesystem::absolute("agent/recorder/libnccl-profiler-lockstep.so"); }
std::string CountingPluginPath() { return std::filesystem::absolute("tests/nccl/libcounting-profiler.so"); }

DriverProcess::~DriverProcess() { Kill(); }

void DriverProcess::Start(const std::string& plugin, int newest_version, const std::vector<std::string>& arguments) {
  std::filesystem::create_directories(ring_directory());
  environment_.emplace("LOCKSTEP_RING_DIR", ring_directory());
  std::vector<std::string> command = {std::filesystem::absolute("tests/nccl/nccl_driver"), plugin,
                                      std::to_string(newest_version), Path("truth")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const auto& [name, value] : environment_) setenv(name.c_str(), value.c_str(), 1);
  execv(argv[0], argv.data());
  _exit(127);
}

void DriverProcess::Forget() {
  std::filesystem::remove_all(ring_directory());
  std::filesystem::remove(Path("truth"));
}

int DriverProcess::Wait() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, 0) != pid_) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void DriverProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  Wait();
}

bool DriverProcess::WaitForTruth() {
  StopSignal never;
  while (!std::filesystem::exists(Path("truth"))) {
    siginfo_t ended = {};
    if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0) {
      return false;
    }
    never.WaitFor(10 * kNanosPerMilli);
  }
  return true;
}

Truth DriverProcess::ReadTruth() const {
  Truth truth;
  if (!nccl::ReadTruth(Path("truth"), &truth)) truth = {};
  return truth;
}

std::vector<std::string> DriverProcess::Rings() const {
  std::vector<std::string> rings;
  for (const auto& entry : std::filesystem::directory_iterator(ring_directory())) {
    rings.push_back(entry.path().string());
  }
  std::sort(rings.begin(), rings.end());
  return rings;
}

}  // namespace lockstep::nccl
