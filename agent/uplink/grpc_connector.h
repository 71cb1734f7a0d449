// Streams to a collector over gRPC.

#ifndef LOCKSTEP_AGENT_UPLINK_GRPC_CONNECTOR_H_
#define LOCKSTEP_AGENT_UPLINK_GRPC_CONNECTOR_H_

#include <memory>
#include <string>
#include <utility>

#include "agent/uplink/collector_stream.h"
#include "daemon/tls/channel_security.h"

namespace lockstep {

// Each stream has a channel of its own, so that the uplink's backoff is the only one. Thread-compatible.
class GrpcConnector final : public CollectorConnector {
 public:
  // `address` is a gRPC target such as "collector:7070". Keys are read anew for each stream.
  explicit GrpcConnector(std::string address, ChannelSecurity security = {})
      : address_(std::move(address)), security_(std::move(security)) {}

  std::unique_ptr<CollectorStream> Connect() override;

 private:
  const std::string address_;
  const ChannelSecurity security_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_GRPC_CONNECTOR_H_
