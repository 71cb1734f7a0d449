// TLS for a gRPC server whose keys may change while it runs: each new connection is served with the newest ones.
//
// gRPC's own watcher of files (tls_certificate_provider.h) takes on a key and a certificate that do not match, and then
// serves nobody. Here gRPC asks for the keys at every handshake, and TlsWatch answers with what was whole.

#ifndef LOCKSTEP_DAEMON_TLS_SERVER_CREDENTIALS_H_
#define LOCKSTEP_DAEMON_TLS_SERVER_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <cstdint>
#include <memory>

#include "daemon/tls/tls_watch.h"

namespace lockstep {

// What a server wants of its clients. A certificate that is shown must be signed by the authorities in either case.
enum class ClientCertificate { kNotAsked, kOptional, kRequired };

// REQUIRES: `watch` holds a certificate, and authorities unless clients are not asked. It is borrowed, and must outlive
// every connection of the server, as must the credentials.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const TlsWatch& watch, ClientCertificate client);

// Ends connections of that age: a certificate is looked at when a connection begins, and so it is looked at again.
// REQUIRES: 1 ms to 24 days.
void LimitConnectionAge(int64_t age_ns, grpc::ServerBuilder& builder);

}  // namespace lockstep

#endif  // LOCKSTEP_DAEMON_TLS_SERVER_CREDENTIALS_H_
