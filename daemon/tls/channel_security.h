// How a client of a collector connects: in plain text, or by TLS with its own certificate or without.

#ifndef LOCKSTEP_DAEMON_TLS_CHANNEL_SECURITY_H_
#define LOCKSTEP_DAEMON_TLS_CHANNEL_SECURITY_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/tls/tls_files.h"

namespace lockstep {

// Plain value. TLS is used when authorities are named; a certificate without them is refused.
struct ChannelSecurity {
  TlsFiles files;
  std::string server_name;  // that the collector's certificate must carry; "" = the host that is connected to

  bool is_plain() const { return files.empty(); }
};

// INVALID_ARGUMENT if names are missing or files do not fit together. Reads the files.
absl::Status CheckChannelSecurity(const ChannelSecurity& security);

// Reads the files anew, so that each channel has the newest keys. Sets the server's name in `arguments`. The errors of
// CheckChannelSecurity. Thread-safe.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(const ChannelSecurity& security,
                                                                                 grpc::ChannelArguments& arguments);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_TLS_CHANNEL_SECURITY_H_
