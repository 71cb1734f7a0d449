// One URL of a receiver: sends it single messages and says what became of them. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_ALERT_ENDPOINT_H_
#define LOCKSTEP_COLLECTOR_ALERT_ALERT_ENDPOINT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "collector/alert/alert_message.h"
#include "collector/alert/alert_protocol.h"
#include "collector/alert/receiver_spec.h"
#include "collector/incident/incident_book.h"
#include "daemon/http_client.h"

namespace lockstep {

class AlertEndpoint {
 public:
  // `url`: one of the receiver's. `timeout_ns` of each message. `abort` as in HttpClient.
  AlertEndpoint(const ReceiverSpec& receiver, const std::string& url, int64_t timeout_ns, std::function<bool()> abort);

  struct Answer {
    AnswerVerdict verdict;
    int64_t retry_after_ns = 0;  // what the receiver asked for; 0 = nothing
  };

  // Blocks for `timeout_ns` at most.
  Answer Send(const IncidentEvent& event, const DeliveryContext& context);

  const AlertProtocol& protocol() const { return protocol_; }
  const ReceiverSpec& receiver() const { return receiver_; }

 private:
  const ReceiverSpec receiver_;
  const AlertProtocol& protocol_;
  HttpClient client_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_ALERT_ENDPOINT_H_
