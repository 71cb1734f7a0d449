#include "daemon/shutdown_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/check.h"

namespace lockstep {
namespace {

sigset_t Handled() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

ShutdownSignals::ShutdownSignals(StopSignal& stop) : stop_(stop) {
  const sigset_t handled = Handled();
  CHECK(pthread_sigmask(SIG_BLOCK, &handled, nullptr) == 0);
  CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  signals_ = signalfd(-1, &handled, SFD_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC);
  CHECK(signals_ >= 0 && wake_ >= 0);
  thread_ = std::thread([this] { Follow(); });
}

ShutdownSignals::~ShutdownSignals() {
  const uint64_t one = 1;
  CHECK(write(wake_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  close(signals_);
  close(wake_);
}

void ShutdownSignals::Follow() {
  while (true) {
    pollfd polled[] = {{signals_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(polled, 2, -1) < 0) {
      CHECK(errno == EINTR);
      continue;
    }
    if (polled[1].revents != 0) return;
    signalfd_siginfo info;
    CHECK(read(signals_, &info, sizeof(info)) == sizeof(info));
    if (info.ssi_signo == SIGHUP) {
      hangup_uid_ = info.ssi_uid;
      hangup_ = true;
      continue;
    }
    if (stop_.stopped()) _exit(128 + static_cast<int>(info.ssi_signo));
    stop_.Stop();
  }
}

}  // namespace lockstep
