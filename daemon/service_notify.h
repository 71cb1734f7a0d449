// Tells systemd (or whoever set $NOTIFY_SOCKET) how the service is doing: the sd_notify protocol, without libsystemd.

#ifndef LOCKSTEP_DAEMON_SERVICE_NOTIFY_H_
#define LOCKSTEP_DAEMON_SERVICE_NOTIFY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lockstep {

// Without a socket every call does nothing; a lost notification is never an error of the service. Thread-compatible.
class ServiceNotifier {
 public:
  // `socket_path` as in $NOTIFY_SOCKET: absolute, or '@' and an abstract name; empty = nobody listens.
  explicit ServiceNotifier(absl::string_view socket_path);
  // From $NOTIFY_SOCKET.
  static ServiceNotifier FromEnvironment();
  ~ServiceNotifier();
  ServiceNotifier(ServiceNotifier&& other) noexcept;
  ServiceNotifier& operator=(ServiceNotifier&&) = delete;

  void Ready() const { Send("READY=1"); }
  void Stopping() const { Send("STOPPING=1"); }
  // Proof of life for WatchdogSec=; call it at least twice per period.
  void Watchdog() const { Send("WATCHDOG=1"); }
  // One line for `systemctl status`.
  void Status(absl::string_view line) const;

 private:
  void Send(absl::string_view text) const;

  std::string address_;  // sockaddr_un as bytes; empty = nobody listens
  int socket_ = -1;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_SERVICE_NOTIFY_H_
