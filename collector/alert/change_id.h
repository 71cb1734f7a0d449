// How a change of an incident is called between history and receivers. Pure values.

#ifndef LOCKSTEP_COLLECTOR_ALERT_CHANGE_ID_H_
#define LOCKSTEP_COLLECTOR_ALERT_CHANGE_ID_H_

#include <cstdint>

namespace lockstep {

// By which a change of an incident is known until its receivers have taken it.
struct ChangeId {
  uint64_t number = 0;  // in history; 0 = it is not there yet
  uint64_t ticket = 0;  // of a change that is told before it is written, unlike that of any other; else 0
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_CHANGE_ID_H_
