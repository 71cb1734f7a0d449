// SIGTERM and SIGINT as a StopSignal, SIGHUP as a flag, without code in signal handlers.

#ifndef LOCKSTEP_DAEMON_SHUTDOWN_SIGNALS_H_
#define LOCKSTEP_DAEMON_SHUTDOWN_SIGNALS_H_

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/stop_signal.h"

namespace lockstep {

// Turns the first SIGTERM or SIGINT into stop.Stop(); a second one ends the process at once, for a drain that hangs.
// SIGHUP ends nothing: it wants the settings to be read again, and the main loop asks whether it came. Also ignores
// SIGPIPE: a peer that went away is an error of its write. Make it before any other thread, so that all threads
// inherit the blocked signals. One per process. TakeHangup may be called by any thread; otherwise not thread-safe.
class ShutdownSignals {
 public:
  // Borrows `stop`.
  explicit ShutdownSignals(StopSignal& stop);
  ~ShutdownSignals();
  ShutdownSignals(const ShutdownSignals&) = delete;
  ShutdownSignals& operator=(const ShutdownSignals&) = delete;

  // Whether SIGHUP came since the last call; several count as one.
  bool TakeHangup() { return hangup_.exchange(false); }

  // The user whose process sent the last one; -1 = none has come. Thread-safe.
  int64_t hangup_uid() const { return hangup_uid_; }

 private:
  void Follow();

  StopSignal& stop_;
  int signals_ = -1;  // signalfd
  int wake_ = -1;     // eventfd: ends the thread
  std::atomic<bool> hangup_{false};
  std::atomic<int64_t> hangup_uid_{-1};
  std::thread thread_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_SHUTDOWN_SIGNALS_H_
