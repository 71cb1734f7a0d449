// Feeds the watchdog of the service manager as long as everything moves, and no longer.
//
// What does not move is logged once and shown by `systemctl status`. The service manager then ends the daemon after its
// WatchdogSec=, unless it moves again before. Not thread-safe.

#ifndef LOCKSTEP_DAEMON_WATCHDOG_FEED_H_
#define LOCKSTEP_DAEMON_WATCHDOG_FEED_H_

#include "absl/status/status.h"
#include "daemon/service_notify.h"

namespace lockstep {

class WatchdogFeed {
 public:
  // `notifier` is borrowed.
  explicit WatchdogFeed(const ServiceNotifier& notifier) : notifier_(notifier) {}

  // To be called at least twice per WatchdogSec=. `moving` says OK, or what is stuck.
  void Feed(const absl::Status& moving);

 private:
  const ServiceNotifier& notifier_;
  bool stuck_ = false;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_WATCHDOG_FEED_H_
