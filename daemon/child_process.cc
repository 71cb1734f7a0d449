#include "daemon/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr int kTickMillis = 20;  // between two looks at a child that prints nothing

absl::Status Failed(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

// A descriptor that is closed with its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

absl::Status WriteInput(int fd, const std::string& input) {
  size_t written = 0;
  while (written < input.size()) {
    const ssize_t now = write(fd, input.data() + written, input.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return Failed("its input cannot be written", errno);
    written += static_cast<size_t>(now);
  }
  return lseek(fd, 0, SEEK_SET) == 0 ? absl::OkStatus() : Failed("its input cannot be read again", errno);
}

absl::StatusOr<pid_t> Spawn(const ChildOptions& options, int input, int output) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy = [&] {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  };
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  std::string program = options.program;
  char* arguments[] = {program.data(), nullptr};
  std::vector<std::string> texts = options.environment;
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, &attributes, arguments, environment.data());
  if (error != 0) return Failed(absl::StrCat(options.program, " cannot be started"), error);
  return child;
}

// Takes what is there. False = nothing will come any more.
bool ReadOutput(int fd, size_t max_bytes, ChildResult* result) {
  char buffer[4'096];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    result->output_bytes += static_cast<uint64_t>(got);
    const size_t room = max_bytes - std::min(max_bytes, result->output.size());
    result->output.append(buffer, std::min(room, static_cast<size_t>(got)));
  }
}

bool HasEnded(pid_t child) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
}

// Until it ends, or has to.
void Await(pid_t child, const ChildOptions& options, int output, ChildResult* result) {
  const int64_t until_ns = RealClock().MonotonicNanos() + options.timeout_ns;
  bool prints = true;
  while (!HasEnded(child)) {
    const bool must_stop = options.stop != nullptr && options.stop->load();
    if (must_stop || RealClock().MonotonicNanos() >= until_ns) {
      result->timed_out = true;
      return;
    }
    pollfd wait = {.fd = prints ? output : -1, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, kTickMillis) > 0) prints = ReadOutput(output, options.max_output_bytes, result);
  }
}

}  // namespace

absl::StatusOr<ChildResult> RunChild(const ChildOptions& options) {
  const Descriptor input(memfd_create("input", MFD_CLOEXEC));
  if (input.get() < 0) return Failed("no memory for its input", errno);
  RETURN_IF_ERROR(WriteInput(input.get(), options.input));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failed("no pipe", errno);
  const Descriptor reads(ends[0]);
  Descriptor writes(ends[1]);
  if (fcntl(reads.get(), F_SETFL, O_NONBLOCK) != 0) return Failed("no pipe", errno);
  ASSIGN_OR_RETURN(const pid_t child, Spawn(options, input.get(), writes.get()));
  writes.Close();
  ChildResult result;
  Await(child, options, reads.get(), &result);
  // Before it is waited for: until then nobody else can have its number.
  kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ReadOutput(reads.get(), options.max_output_bytes, &result);
  if (WIFEXITED(status) && !result.timed_out) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

absl::Status CheckTrustedProgram(const std::string& path) {
  if (!absl::StartsWith(path, "/")) return absl::InvalidArgumentError(absl::StrCat(path, ": not an absolute path"));
  const auto check = [](const std::string& name, bool is_folder) -> absl::Status {
    struct stat found;
    if (stat(name.c_str(), &found) != 0) return absl::NotFoundError(absl::StrCat(name, ": ", std::strerror(errno)));
    if (is_folder ? !S_ISDIR(found.st_mode) : !S_ISREG(found.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": not a ", is_folder ? "folder" : "file"));
    }
    const bool is_sticky = is_folder && (found.st_mode & S_ISVTX) != 0;
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky) {
      return absl::PermissionDeniedError(absl::StrCat(name, ": others than its owner may write it"));
    }
    if (found.st_uid != 0 && found.st_uid != geteuid()) {
      return absl::PermissionDeniedError(absl::StrCat(name, ": neither root nor this user owns it"));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(check(path, false));
  RETURN_IF_ERROR(check(path.substr(0, std::max<size_t>(path.rfind('/'), 1)), true));
  if (access(path.c_str(), X_OK) != 0) return absl::PermissionDeniedError(absl::StrCat(path, ": not executable"));
  return absl::OkStatus();
}

}  // namespace lockstep
