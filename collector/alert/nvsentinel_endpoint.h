// NVSentinel's platform connector: takes HealthEvents in gRPC, over a Unix socket of its node. Not thread-safe.
//
// A caller without a token may speak of the connector's own node alone; one with a token of a service account that is
// trusted with all nodes may speak of any.

#ifndef LOCKSTEP_COLLECTOR_ALERT_NVSENTINEL_ENDPOINT_H_
#define LOCKSTEP_COLLECTOR_ALERT_NVSENTINEL_ENDPOINT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collector/alert/alert_endpoint.h"
#include "collector/alert/receiver_spec.h"
#include "proto/health_event.grpc.pb.h"

namespace lockstep {

class NvsentinelEndpoint final : public AlertEndpoint {
 public:
  // `address`: "unix:PATH". `timeout_ns` of each message. `abort` is asked a few times a second; true ends the message
  // without an answer.
  NvsentinelEndpoint(const ReceiverSpec& receiver, const std::string& address, int64_t timeout_ns,
                     std::function<bool()> abort);

  // What is no node's business is taken without being sent.
  Answer Send(const IncidentEvent& event, const DeliveryContext& context) override;

 private:
  const std::string token_file_;
  const int64_t timeout_ns_;
  const std::function<bool()> abort_;
  const std::unique_ptr<datamodels::PlatformConnector::Stub> stub_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ALERT_NVSENTINEL_ENDPOINT_H_
