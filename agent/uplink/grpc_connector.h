// Streams to a collector over gRPC.

#ifndef LOCKSTEP_AGENT_UPLINK_GRPC_CONNECTOR_H_
#define LOCKSTEP_AGENT_UPLINK_GRPC_CONNECTOR_H_

#include <memory>
#include <string>
#include <utility>

#include "agent/uplink/collector_stream.h"

namespace lockstep {

// Each stream has a channel of its own, so that the uplink's backoff is the only one. Thread-compatible.
class GrpcConnector final : public CollectorConnector {
 public:
  // `address` is a gRPC target such as "collector:7070". Plain text: see docs for where that is acceptable.
  explicit GrpcConnector(std::string address) : address_(std::move(address)) {}

  std::unique_ptr<CollectorStream> Connect() override;

 private:
  const std::string address_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_GRPC_CONNECTOR_H_
