// What a receiver was told last of one incident, as history keeps it: when, for how soon it is told more, and where it
// keeps what it was told. Plain value; thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_ALERT_TOLD_ALERT_H_
#define LOCKSTEP_COLLECTOR_ALERT_TOLD_ALERT_H_

#include <cstdint>
#include <string>

namespace lockstep {

struct ToldAlert {
  uint64_t incident = 0;
  std::string receiver;  // the name of its courier
  std::string channel;   // of the receiver; the thread is in no other
  std::string thread;    // as the receiver named it; opaque; "" = none
  int64_t wall_ns = 0;   // when; 0 = it was told that the incident is over

  // Nothing to remember.
  bool empty() const { return thread.empty() && wall_ns == 0; }

  bool operator==(const ToldAlert&) const = default;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_TOLD_ALERT_H_
