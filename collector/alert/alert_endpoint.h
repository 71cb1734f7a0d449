// One URL of a receiver: sends it single messages and says what became of them. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_ENDPOINT_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_ENDPOINT_H_

#include <cstdint>

#include "collector/alert/alert_message.h"
#include "collector/incident/incident_book.h"

namespace lockstep {

class AlertEndpoint {
 public:
  struct Answer {
    AnswerVerdict verdict;
    int64_t retry_after_ns = 0;  // what the receiver asked for; 0 = nothing
  };

  virtual ~AlertEndpoint() = default;

  // Blocks for as long as a message may take, or until it is to abort.
  virtual Answer Send(const IncidentEvent& event, const DeliveryContext& context) = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_ENDPOINT_H_
