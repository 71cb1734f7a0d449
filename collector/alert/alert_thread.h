// Where a receiver keeps what it was told of one incident, so that it is told the rest there too. Plain value;
// thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_THREAD_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_THREAD_H_

#include <cstdint>
#include <string>

namespace lockstep {

struct AlertThread {
  uint64_t incident = 0;
  std::string receiver;  // the name of its courier
  std::string channel;   // of the receiver; the thread is in no other
  std::string thread;    // as the receiver named it; opaque

  bool operator==(const AlertThread&) const = default;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_THREAD_H_
