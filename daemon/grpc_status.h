// A status of ours as gRPC says it: the same code and message. Pure.

#ifndef LOCKSTEP_DAEMON_GRPC_STATUS_H_
#define LOCKSTEP_DAEMON_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace lockstep {

inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_GRPC_STATUS_H_
