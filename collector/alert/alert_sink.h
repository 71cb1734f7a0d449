// Where changes of incidents go. Implementations never block the caller.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_SINK_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_SINK_H_

#include "collector/incident/incident_book.h"

namespace lockstep {

// Thread-safe.
class AlertSink {
 public:
  virtual ~AlertSink() = default;

  // Takes the event or, when the queue is full, drops and counts it.
  virtual void Announce(const IncidentEvent& event) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_SINK_H_
