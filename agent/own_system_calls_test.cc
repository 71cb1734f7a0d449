#include "agent/own_system_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace lockstep {
namespace {

// A process of its own, since what is given up is given up for good. How it ended, as waitpid(2) tells.
int InAProcessThatGaveUp(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) _exit(GiveUpSystemCalls().ok() ? act() : 99);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

// True if the call, which would succeed or fail for another reason before, is not permitted after.
bool IsForbidden(const std::function<long()>& call) {
  const int status = InAProcessThatGaveUp([&] {
    errno = 0;
    return call() == -1 && errno == EPERM ? 0 : 1;
  });
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A process of the same user that waits until it is killed.
class Neighbour {
 public:
  Neighbour() : pid_(fork()) {
    if (pid_ == 0) {
      while (true) pause();
    }
  }
  ~Neighbour() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

TEST(OwnSystemCallsTest, NothingThatTouchesAnotherProcess) {
  const Neighbour other;
  const pid_t pid = other.pid();
  EXPECT_TRUE(IsForbidden([&] { return kill(pid, SIGTERM); }));
  EXPECT_TRUE(IsForbidden([&] { return kill(-1, 0); })) << "nor a group of them";
  EXPECT_TRUE(IsForbidden([&] { return syscall(SYS_tgkill, pid, pid, SIGTERM); }));
  EXPECT_TRUE(IsForbidden([&] { return setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 10); }));
  EXPECT_TRUE(IsForbidden([&] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(0, &cores);
    return sched_setaffinity(pid, sizeof(cores), &cores);
  }));
  EXPECT_TRUE(IsForbidden([&] {
    char byte = 0;
    const iovec part = {&byte, 1};
    return process_vm_writev(pid, &part, 1, &part, 1, 0);
  }));
#ifndef LOCKSTEP_SANITIZED
  EXPECT_TRUE(IsForbidden([&] { return ptrace(PTRACE_SEIZE, pid, nullptr, nullptr); }));
#endif
  EXPECT_EQ(kill(pid, 0), 0) << "it was there all the time";
}

TEST(OwnSystemCallsTest, NoProgramsNoMountsNoNamespacesNoWayAroundPaths) {
  char* const arguments[] = {nullptr};
  EXPECT_TRUE(IsForbidden([&] { return execve("/bin/true", arguments, arguments); }));
  EXPECT_TRUE(IsForbidden([] { return mount("none", "/tmp", "tmpfs", 0, nullptr); }));
  EXPECT_TRUE(IsForbidden([] { return unshare(CLONE_NEWUSER); }));
  EXPECT_TRUE(IsForbidden([] { return chroot("/"); }));
  EXPECT_TRUE(IsForbidden([] { return setuid(getuid()); }));
  EXPECT_TRUE(IsForbidden([] { return syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0); }));
  EXPECT_TRUE(IsForbidden([] { return syscall(SYS_bpf, 0, nullptr, 0); }));
  EXPECT_TRUE(IsForbidden([] { return syscall(SYS_io_uring_setup, 1, nullptr); }));
}

TEST(OwnSystemCallsTest, ThreadsAreHeldToItToo) {
  EXPECT_TRUE(IsForbidden([] {
    long result = 0;
    int error = 0;
    std::thread([&] {
      result = chroot("/");
      error = errno;
    }).join();
    errno = error;
    return result;
  }));
}

TEST(OwnSystemCallsTest, WhatItLivesByGoesOn) {
  const Neighbour other;
  const int status = InAProcessThatGaveUp([&] {
    const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    char text[64];
    if (file < 0 || read(file, text, sizeof(text)) <= 0 || close(file) != 0) return 1;
    int answer = 0;
    std::thread([&answer] { answer = 42; }).join();
    if (answer != 42) return 2;
    if (kill(getpid(), 0) != 0) return 3;
    // Functions of a job's processes are read from their memory, at the same address after fork().
    static const int kWord = 7;
    int seen = 0;
    const iovec here = {&seen, sizeof(seen)};
    const iovec there = {const_cast<int*>(&kWord), sizeof(kWord)};
    if (process_vm_readv(other.pid(), &here, 1, &there, 1, 0) != sizeof(seen) || seen != kWord) return 4;
    return 0;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(OwnSystemCallsTest, WhatMustNotBeEndsTheProcessAsBefore) {
  const int status = InAProcessThatGaveUp([] {
    std::abort();
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

}  // namespace
}  // namespace lockstep
