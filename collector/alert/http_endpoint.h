// A receiver that is spoken to in HTTP, by the row of its kind. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_ALERT_HTTP_ENDPOINT_H_
#define LOCKSTEP_COLLECTOR_ALERT_HTTP_ENDPOINT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "collector/alert/alert_endpoint.h"
#include "collector/alert/alert_protocol.h"
#include "collector/alert/receiver_spec.h"
#include "daemon/http_client.h"

namespace lockstep {

class HttpEndpoint final : public AlertEndpoint {
 public:
  // `url`: one of the receiver's. `timeout_ns` of each message. `abort` as in HttpClient. REQUIRES: its kind speaks
  // HTTP.
  HttpEndpoint(const ReceiverSpec& receiver, const std::string& url, int64_t timeout_ns, std::function<bool()> abort);

  Answer Send(const IncidentEvent& event, const DeliveryContext& context) override;

 private:
  const ReceiverSpec receiver_;
  const AlertProtocol& protocol_;
  HttpClient client_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_HTTP_ENDPOINT_H_
