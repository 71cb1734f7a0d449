// Announces incidents in the log of the collector: one line per event. Thread-safe; drops nothing.

#ifndef LOCKSTEP_COLLECTOR_ALERT_LOG_SINK_H_
#define LOCKSTEP_COLLECTOR_ALERT_LOG_SINK_H_

#include "collector/alert/alert_sink.h"

namespace lockstep {

class LogSink final : public AlertSink {
 public:
  void Announce(const IncidentEvent& event) override;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_LOG_SINK_H_
