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
  // `address` is a gRPC target such as "collector:7070". Keys, and a token in a file ("" = none), are read anew for
  // each stream.
  explicit GrpcConnector(std::string address, ChannelSecurity security = {}, std::string token_file = "")
      : address_(std::move(address)), security_(std::move(security)), token_file_(std::move(token_file)) {}

  std::unique_ptr<CollectorStream> Connect() override;

 private:
  const std::string address_;
  const ChannelSecurity security_;
  const std::string token_file_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_AGENT_UPLINK_GRPC_CONNECTOR_H_
